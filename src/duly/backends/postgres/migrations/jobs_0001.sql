-- Times are whole microseconds since 1970-01-01T00:00Z, lengths whole microseconds.

CREATE TABLE duly.jobs (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  team             text     NOT NULL,
  name             text,
  description      text,
  schedule         text     NOT NULL,
  timezone         text     NOT NULL,
  gap              text     NOT NULL,
  repeat           text     NOT NULL,
  starts_at        bigint,
  ends_at          bigint,
  command          text     NOT NULL,
  input            text,
  jitter           bigint   NOT NULL,
  jitter_offset    bigint   NOT NULL,
  overlap          text     NOT NULL,
  missed           text     NOT NULL,
  retry            text     NOT NULL,
  timeout          bigint   NOT NULL,
  queue            text     NOT NULL,
  priority         smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
  owner            text,
  alert            text     NOT NULL,
  source           text,
  state            text     NOT NULL CHECK (state IN ('active', 'paused', 'ended', 'deleted')),
  schedule_version bigint   NOT NULL,
  version          bigint   NOT NULL,
  created_at       bigint   NOT NULL,
  updated_at       bigint   NOT NULL,
  changed_at       bigint   NOT NULL
);

-- A deleted job's name is free again.
CREATE UNIQUE INDEX jobs_name ON duly.jobs (team, name) WHERE name IS NOT NULL AND state <> 'deleted';
-- Importing a crontab again finds its lines.
CREATE INDEX jobs_source ON duly.jobs (source) WHERE source IS NOT NULL;

-- The active jobs' next times, apart from the wide rows of `jobs`: planning moves a job on by
-- rewriting these few bytes. A job is active exactly while it has a row here.
-- Each move leaves a dead row, so the vacuum comes early and never rests in between.
CREATE TABLE duly.timers (
  job_id           bigint PRIMARY KEY REFERENCES duly.jobs (id),
  next_run_at      bigint NOT NULL,
  schedule_version bigint NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.2);

-- What planning reads: nothing but what is due.
CREATE INDEX timers_due ON duly.timers (next_run_at);

-- First answers to requests that carried an Idempotency-Key.
CREATE TABLE duly.answers (
  team        text    NOT NULL,
  route       text    NOT NULL,
  key         text    NOT NULL,
  fingerprint text    NOT NULL,
  status      integer NOT NULL,
  body        text    NOT NULL,
  location    text,
  job_id      bigint,
  created_at  bigint  NOT NULL,
  PRIMARY KEY (team, route, key)
);

CREATE INDEX answers_age ON duly.answers (created_at);

-- Each partition's leader. Its term only rises; planning writes hold the row while they check it.
CREATE TABLE duly.partitions (
  id       integer PRIMARY KEY,
  term     bigint  NOT NULL,
  leader   text,
  began_at bigint
) WITH (fillfactor = 50);

INSERT INTO duly.partitions (id, term) VALUES (0, 0);

-- Who leads, and until when by this database's clock.
CREATE TABLE duly.leases (
  name   text   PRIMARY KEY,
  holder text   NOT NULL,
  until  bigint NOT NULL
);
