-- Times are whole microseconds since 1970-01-01T00:00Z, lengths whole microseconds.

CREATE TABLE jobs (
  id               INTEGER PRIMARY KEY AUTOINCREMENT,  -- an id is never given out twice
  team             TEXT    NOT NULL,
  name             TEXT,
  description      TEXT,
  schedule         TEXT    NOT NULL,
  timezone         TEXT    NOT NULL,
  gap              TEXT    NOT NULL,
  repeat           TEXT    NOT NULL,
  starts_at        INTEGER,
  ends_at          INTEGER,
  command          TEXT    NOT NULL,
  input            TEXT,
  jitter           INTEGER NOT NULL,
  jitter_offset    INTEGER NOT NULL,
  overlap          TEXT    NOT NULL,
  missed           TEXT    NOT NULL,
  retry            TEXT    NOT NULL,
  timeout          INTEGER NOT NULL,
  queue            TEXT    NOT NULL,
  priority         INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 9),
  owner            TEXT,
  alert            TEXT    NOT NULL,
  source           TEXT,
  state            TEXT    NOT NULL CHECK (state IN ('active', 'paused', 'ended', 'deleted')),
  schedule_version INTEGER NOT NULL,
  version          INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  changed_at       INTEGER NOT NULL
) STRICT;

-- A deleted job's name is free again.
CREATE UNIQUE INDEX jobs_name ON jobs (team, name) WHERE name IS NOT NULL AND state <> 'deleted';
-- The active jobs' next times, apart from the wide rows of `jobs`: planning moves a job on by
-- rewriting these few bytes. A job is active exactly while it has a row here.
CREATE TABLE timers (
  job_id           INTEGER PRIMARY KEY REFERENCES jobs (id),
  next_run_at      INTEGER NOT NULL,
  schedule_version INTEGER NOT NULL
) STRICT;

-- What planning reads: nothing but what is due.
CREATE INDEX timers_due ON timers (next_run_at);
-- Importing a crontab again finds its lines.
CREATE INDEX jobs_source ON jobs (source) WHERE source IS NOT NULL;

-- First answers to requests that carried an Idempotency-Key.
CREATE TABLE answers (
  team        TEXT    NOT NULL,
  route       TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  status      INTEGER NOT NULL,
  body        TEXT    NOT NULL,
  location    TEXT,
  job_id      INTEGER,
  created_at  INTEGER NOT NULL,
  PRIMARY KEY (team, route, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX answers_age ON answers (created_at);

-- Terms of leadership. The highest decides; rows are never removed, so a term never comes again.
CREATE TABLE terms (
  term     INTEGER PRIMARY KEY AUTOINCREMENT,
  leader   TEXT    NOT NULL,
  began_at INTEGER NOT NULL
) STRICT;
