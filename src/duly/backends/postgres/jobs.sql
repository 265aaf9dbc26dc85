-- Queries of the jobs database. Every dialect has the same names.

-- name: now
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- name: take_ids
SELECT nextval('duly.jobs_id_seq') FROM generate_series(1, :amount::integer);

-- name: add_job
-- Nothing where the team has a live job of the name: the caller then reads that one.
WITH added AS (
  INSERT INTO duly.jobs (team, name, description, schedule, timezone, gap, repeat, starts_at,
                         ends_at, command, input, jitter, overlap, missed, retry, timeout, queue,
                         priority, owner, alert, source, jitter_offset, state, schedule_version,
                         version, created_at, updated_at, changed_at)
  VALUES (:team, :name, :description, :schedule, :timezone, :gap, :repeat, :starts_at,
          :ends_at, :command, :input, :jitter, :overlap, :missed, :retry, :timeout, :queue,
          :priority, :owner, :alert, :source, :jitter_offset, :state, 1,
          1, :now, :now, :now)
  ON CONFLICT (team, name) WHERE name IS NOT NULL AND state <> 'deleted' DO NOTHING
  RETURNING id
), timed AS (
  INSERT INTO duly.timers (job_id, next_run_at, schedule_version)
  SELECT id, :next_run_at::bigint, 1 FROM added WHERE :next_run_at IS NOT NULL
)
SELECT id FROM added;

-- name: jobs_by_ids
SELECT jobs.*, next_run_at FROM duly.jobs LEFT JOIN duly.timers ON job_id = id
 WHERE id = ANY (:ids::bigint[]);

-- name: tasks
SELECT id, version, state, schedule_version, changed_at, command, input, timeout, retry
  FROM duly.jobs WHERE id = ANY (:ids::bigint[]);

-- name: versions
SELECT id, version FROM duly.jobs WHERE id = ANY (:ids::bigint[]);

-- name: jobs_by_names
SELECT jobs.*, next_run_at FROM duly.jobs LEFT JOIN duly.timers ON job_id = id
 WHERE team = :team AND name = ANY (:names::text[]) AND state <> 'deleted';

-- name: list_jobs
SELECT jobs.*, next_run_at FROM duly.jobs LEFT JOIN duly.timers ON job_id = id
 WHERE team = :team AND id > :after AND state <> 'deleted'
   AND (:state::text IS NULL OR state = :state)
   AND (:name::text IS NULL OR name = :name)
   AND (:source::text IS NULL OR source = :source)
   AND (:queue::text IS NULL OR queue = :queue)
   AND (:owner::text IS NULL OR owner = :owner)
 ORDER BY id
 LIMIT :limit;

-- name: replace_job
-- Only over the version that the caller read.
UPDATE duly.jobs
   SET name = :name, description = :description, schedule = :schedule, timezone = :timezone,
       gap = :gap, repeat = :repeat, starts_at = :starts_at, ends_at = :ends_at,
       command = :command, input = :input, jitter = :jitter, overlap = :overlap,
       missed = :missed, retry = :retry, timeout = :timeout, queue = :queue,
       priority = :priority, owner = :owner, alert = :alert, source = :source,
       jitter_offset = :jitter_offset, state = :state,
       schedule_version = :schedule_version, version = version + 1,
       updated_at = :updated_at, changed_at = :changed_at
 WHERE id = :id AND version = :expected_version
RETURNING *, :next_run_at::bigint AS next_run_at;

-- name: set_timer
INSERT INTO duly.timers (job_id, next_run_at, schedule_version)
VALUES (:job_id, :next_run_at, :schedule_version)
ON CONFLICT (job_id) DO UPDATE
   SET next_run_at = excluded.next_run_at, schedule_version = excluded.schedule_version;

-- name: clear_timer
DELETE FROM duly.timers WHERE job_id = :job_id;

-- name: due_jobs
-- The poll: reads the timers from the floor up to the horizon, and the rows of those jobs. Below
-- the floor lie only rows that were moved on, which a vacuum has perhaps not removed yet.
SELECT next_run_at - jitter_offset AS slot, schedule, timezone, gap, repeat, ends_at, missed,
       due.schedule_version, queue, priority, overlap = 'skip' AS exclusive,
       array_agg(id), array_agg(jitter_offset), min(next_run_at) AS earliest
  FROM (SELECT * FROM duly.timers
         WHERE next_run_at >= :floor AND next_run_at <= :before
         ORDER BY next_run_at
         LIMIT :limit) AS due
  JOIN duly.jobs ON id = job_id
 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
 ORDER BY earliest;

-- name: advance_timers
-- Jobs to one next time, only while their schedule is the one that was read, and only under the
-- term that stands in the partition's row. The row is held: no later term begins before the commit.
WITH led AS MATERIALIZED (
  SELECT id FROM duly.partitions WHERE id = 0 AND term = :term FOR SHARE
)
UPDATE duly.timers SET next_run_at = :next_run_at
  FROM led
 WHERE job_id = ANY (:job_ids::text::bigint[]) AND schedule_version = :version;

-- name: advance_various_timers
-- The same for jobs each with a next time of its own.
WITH led AS MATERIALIZED (
  SELECT id FROM duly.partitions WHERE id = 0 AND term = :term FOR SHARE
)
UPDATE duly.timers SET next_run_at = moves.next_run_at
  FROM led, unnest(:job_ids::text::bigint[], :next_run_ats::text::bigint[],
                   :versions::text::bigint[])
            AS moves (job_id, next_run_at, schedule_version)
 WHERE timers.job_id = moves.job_id AND timers.schedule_version = moves.schedule_version;

-- name: end_timers
WITH led AS MATERIALIZED (
  SELECT id FROM duly.partitions WHERE id = 0 AND term = :term FOR SHARE
), gone AS (
  DELETE FROM duly.timers
   USING led, unnest(:job_ids::text::bigint[], :versions::text::bigint[])
              AS moves (job_id, schedule_version)
   WHERE timers.job_id = moves.job_id AND timers.schedule_version = moves.schedule_version
  RETURNING timers.job_id
)
UPDATE duly.jobs SET state = 'ended' FROM gone WHERE id = job_id AND state = 'active';

-- name: begin_term
UPDATE duly.partitions SET term = term + 1, leader = :leader, began_at = :now
 WHERE id = 0
RETURNING term;

-- name: current_term
SELECT term FROM duly.partitions WHERE id = 0;

-- name: count_jobs
SELECT state, count(*) FROM duly.jobs GROUP BY state;

-- name: hold_key
-- Requests of one key come one after the other, until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(:key, 0));

-- name: store_answer
INSERT INTO duly.answers (team, route, key, fingerprint, status, body, location, job_id, created_at)
VALUES (:team, :route, :key, :fingerprint, :status, :body, :location, :job_id, :now)
ON CONFLICT (team, route, key) DO NOTHING;

-- name: answer
SELECT fingerprint, status, body, location, job_id FROM duly.answers
 WHERE team = :team AND route = :route AND key = :key;

-- name: forget_answers
DELETE FROM duly.answers
 WHERE (team, route, key) IN
       (SELECT team, route, key FROM duly.answers WHERE created_at < :before LIMIT :limit);

-- name: take_lease
-- Taken where it is free, has run out by this clock, or is the holder's own.
INSERT INTO duly.leases (name, holder, until)
VALUES (:name, :holder,
        (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + :length::bigint)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
 WHERE leases.holder = excluded.holder
    OR leases.until < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- name: give_up_lease
DELETE FROM duly.leases WHERE name = :name AND holder = :holder;
