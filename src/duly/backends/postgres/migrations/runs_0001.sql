-- Times are whole microseconds since 1970-01-01T00:00Z.
--
-- A run lies in `queue` while it is queued or running, and in `runs` once it is over: written once,
-- never changed. So history holds no dead rows however many years of it there are, claims cannot
-- meet finished runs, and the guard against overlap can be an index (one over a partitioned table
-- would have to hold its partitions' key).

CREATE TABLE duly.queue (
  job_id           bigint   NOT NULL,
  scheduled_for    bigint   NOT NULL,
  due_at           bigint   NOT NULL,
  queue            text     NOT NULL,
  priority         smallint NOT NULL,
  exclusive        boolean  NOT NULL,  -- overlap is not allowed
  manual           boolean  NOT NULL,
  running          boolean  NOT NULL DEFAULT false,
  schedule_version bigint   NOT NULL,
  attempts         integer  NOT NULL DEFAULT 0,
  interruptions    integer  NOT NULL DEFAULT 0,
  worker           text,
  token            bigint,
  queued_at        bigint   NOT NULL,
  started_at       bigint,
  finished_at      bigint,
  exit_code        integer,
  signal           integer,
  reason           text,
  PRIMARY KEY (job_id, scheduled_for)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

-- The runs to come, in the order of claims.
CREATE INDEX queue_due ON duly.queue (queue, priority, due_at) WHERE NOT running;
-- At most one open run of a job that allows no overlap: the guard itself, not a look beforehand.
CREATE UNIQUE INDEX queue_open ON duly.queue (job_id) WHERE exclusive AND (running OR attempts > 0);
-- What runs besides: so each running row lies in one index more, and no index has many.
CREATE INDEX queue_others ON duly.queue (job_id) WHERE running AND NOT exclusive;

-- History, a partition for each day of `scheduled_for`. See days.py.
CREATE TABLE duly.runs (
  job_id           bigint   NOT NULL,
  scheduled_for    bigint   NOT NULL,
  status           text     NOT NULL,
  due_at           bigint   NOT NULL,
  queue            text     NOT NULL,
  priority         smallint NOT NULL,
  manual           boolean  NOT NULL,
  schedule_version bigint   NOT NULL,
  attempts         integer  NOT NULL,
  interruptions    integer  NOT NULL,
  worker           text,
  token            bigint,
  queued_at        bigint   NOT NULL,
  started_at       bigint,
  finished_at      bigint,
  exit_code        integer,
  signal           integer,
  reason           text,
  voided           boolean  NOT NULL DEFAULT false,  -- canceled by an edit; a later plan may revive it
  slots            bigint   NOT NULL DEFAULT 1,
  last_slot        bigint,
  PRIMARY KEY (scheduled_for, job_id)
) PARTITION BY RANGE (scheduled_for);

-- A job's history.
CREATE INDEX runs_of_job ON duly.runs (job_id, scheduled_for);
-- The dead letters, in order of time.
CREATE INDEX runs_dead ON duly.runs (scheduled_for, job_id) WHERE status = 'dead';

-- Tries that did not succeed at once. The token is the key: a try handed back keeps its number.
CREATE TABLE duly.tries (
  job_id        bigint  NOT NULL,
  scheduled_for bigint  NOT NULL,
  token         bigint  NOT NULL,
  attempt       integer NOT NULL,
  outcome       text    NOT NULL,
  worker        text,
  started_at    bigint,
  finished_at   bigint  NOT NULL,
  exit_code     integer,
  signal        integer,
  reason        text,
  PRIMARY KEY (scheduled_for, job_id, token)
) PARTITION BY RANGE (scheduled_for);

CREATE TABLE duly.outputs (
  job_id        bigint  NOT NULL,
  scheduled_for bigint  NOT NULL,
  token         bigint  NOT NULL,
  attempt       integer NOT NULL,
  head          bytea   NOT NULL,
  tail          bytea   NOT NULL,
  dropped       bigint  NOT NULL,
  PRIMARY KEY (scheduled_for, job_id, token)
) PARTITION BY RANGE (scheduled_for);

CREATE TABLE duly.workers (
  id          text    PRIMARY KEY,
  host        text    NOT NULL,
  pid         integer NOT NULL,
  queues      text[]  NOT NULL,
  concurrency integer NOT NULL,
  started_at  bigint  NOT NULL,
  beat_at     bigint  NOT NULL
) WITH (fillfactor = 50);

-- The last token given to a claim: only rises.
CREATE SEQUENCE duly.last_token;
