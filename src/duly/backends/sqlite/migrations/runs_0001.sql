-- Times are whole microseconds since 1970-01-01T00:00Z.

CREATE TABLE runs (
  job_id           INTEGER NOT NULL,
  scheduled_for    INTEGER NOT NULL,
  status           TEXT    NOT NULL,
  due_at           INTEGER NOT NULL,
  queue            TEXT    NOT NULL,
  priority         INTEGER NOT NULL,
  exclusive        INTEGER NOT NULL,  -- overlap is not allowed
  manual           INTEGER NOT NULL,
  schedule_version INTEGER NOT NULL,
  attempts         INTEGER NOT NULL DEFAULT 0,
  interruptions    INTEGER NOT NULL DEFAULT 0,
  worker           TEXT,
  token            INTEGER,
  queued_at        INTEGER NOT NULL,
  started_at       INTEGER,
  finished_at      INTEGER,
  exit_code        INTEGER,
  signal           INTEGER,
  reason           TEXT,
  voided           INTEGER NOT NULL DEFAULT 0,  -- canceled by an edit; a later plan may revive it
  slots            INTEGER NOT NULL DEFAULT 1,
  last_slot        INTEGER,
  -- In order of time, not of jobs: a rush then fills a few pages one after another instead of
  -- touching the history page of each of its jobs, and old days lie together.
  PRIMARY KEY (scheduled_for, job_id)
) STRICT, WITHOUT ROWID;

-- A job's history. (The key's columns follow by themselves: job_id, scheduled_for.)
CREATE INDEX runs_of_job ON runs (job_id);
-- The queue, in the order of claims.
CREATE INDEX runs_due ON runs (queue, priority, due_at) WHERE status = 'queued';
-- At most one open run of a job that allows no overlap: the guard itself, not a look beforehand.
CREATE UNIQUE INDEX runs_open ON runs (job_id)
  WHERE exclusive = 1 AND (status = 'running' OR (status = 'queued' AND attempts > 0));
-- What each worker holds.
CREATE INDEX runs_held ON runs (worker) WHERE status = 'running';
-- The dead letters, in order of time.
CREATE INDEX runs_dead ON runs (status) WHERE status = 'dead';

-- Tries that did not succeed at once. The token is the key: a try handed back keeps its number.
CREATE TABLE tries (
  job_id        INTEGER NOT NULL,
  scheduled_for INTEGER NOT NULL,
  token         INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  outcome       TEXT    NOT NULL,
  worker        TEXT,
  started_at    INTEGER,
  finished_at   INTEGER NOT NULL,
  exit_code     INTEGER,
  signal        INTEGER,
  reason        TEXT,
  PRIMARY KEY (job_id, scheduled_for, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE outputs (
  job_id        INTEGER NOT NULL,
  scheduled_for INTEGER NOT NULL,
  token         INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  head          BLOB    NOT NULL,
  tail          BLOB    NOT NULL,
  dropped       INTEGER NOT NULL,
  PRIMARY KEY (job_id, scheduled_for, token)
) STRICT;

CREATE TABLE workers (
  id          TEXT    PRIMARY KEY,
  host        TEXT    NOT NULL,
  pid         INTEGER NOT NULL,
  queues      TEXT    NOT NULL,
  concurrency INTEGER NOT NULL,
  started_at  INTEGER NOT NULL,
  beat_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The last token given to a claim: only rises, durable with the claim.
CREATE TABLE last_token (token INTEGER NOT NULL) STRICT;
INSERT INTO last_token VALUES (0);
