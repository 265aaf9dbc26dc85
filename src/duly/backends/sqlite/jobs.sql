-- Queries of the jobs database. Every dialect has the same names.

-- name: last_id
-- The highest id ever given; the next ones belong to whoever holds the write lock.
SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs';

-- name: add_jobs
INSERT INTO jobs (id, team, name, description, schedule, timezone, gap, repeat, starts_at, ends_at,
                  command, input, jitter, overlap, missed, retry, timeout, queue, priority, owner,
                  alert, source, jitter_offset, state,
                  schedule_version, version, created_at, updated_at, changed_at)
VALUES (:id, :team, :name, :description, :schedule, :timezone, :gap, :repeat, :starts_at, :ends_at,
        :command, :input, :jitter, :overlap, :missed, :retry, :timeout, :queue, :priority, :owner,
        :alert, :source, :jitter_offset, :state,
        1, 1, :now, :now, :now);

-- name: job_by_id
SELECT jobs.*, next_run_at FROM jobs LEFT JOIN timers ON job_id = id WHERE id = :id;

-- name: jobs_by_ids
SELECT jobs.*, next_run_at FROM jobs LEFT JOIN timers ON job_id = id
 WHERE id IN (SELECT value FROM json_each(:ids));

-- name: tasks
SELECT json_group_array(json_array(id, version, state, schedule_version, changed_at, command, input,
                                   timeout, retry))
  FROM jobs WHERE id IN (SELECT value FROM json_each(?1));

-- name: versions
SELECT json_group_array(json_array(id, version))
  FROM jobs WHERE id IN (SELECT value FROM json_each(?1));

-- name: job_by_name
SELECT jobs.*, next_run_at FROM jobs LEFT JOIN timers ON job_id = id
 WHERE team = :team AND name = :name AND state <> 'deleted';

-- name: jobs_by_names
SELECT jobs.*, next_run_at FROM jobs LEFT JOIN timers ON job_id = id
 WHERE team = :team AND name IN (SELECT value FROM json_each(:names)) AND state <> 'deleted';

-- name: list_jobs
SELECT jobs.*, next_run_at FROM jobs LEFT JOIN timers ON job_id = id
 WHERE team = :team AND id > :after AND state <> 'deleted'
   AND (:state IS NULL OR state = :state)
   AND (:name IS NULL OR name = :name)
   AND (:source IS NULL OR source = :source)
   AND (:queue IS NULL OR queue = :queue)
   AND (:owner IS NULL OR owner = :owner)
 ORDER BY id
 LIMIT :limit;

-- name: replace_job
-- Only over the version that the caller read.
UPDATE jobs
   SET name = :name, description = :description, schedule = :schedule, timezone = :timezone,
       gap = :gap, repeat = :repeat, starts_at = :starts_at, ends_at = :ends_at,
       command = :command, input = :input, jitter = :jitter, overlap = :overlap,
       missed = :missed, retry = :retry, timeout = :timeout, queue = :queue,
       priority = :priority, owner = :owner, alert = :alert, source = :source,
       jitter_offset = :jitter_offset, state = :state,
       schedule_version = :schedule_version, version = version + 1,
       updated_at = :updated_at, changed_at = :changed_at
 WHERE id = :id AND version = :expected_version
RETURNING *, :next_run_at AS next_run_at;

-- name: set_timer
INSERT INTO timers (job_id, next_run_at, schedule_version)
VALUES (:job_id, :next_run_at, :schedule_version)
ON CONFLICT (job_id) DO UPDATE
   SET next_run_at = excluded.next_run_at, schedule_version = excluded.schedule_version;

-- name: clear_timer
DELETE FROM timers WHERE job_id = :job_id;

-- name: due_jobs
-- The poll: reads the timers up to the horizon, and the rows of those jobs.
SELECT next_run_at - jitter_offset, schedule, timezone, gap, repeat, ends_at, missed,
       due.schedule_version, queue, priority, overlap = 'skip',
       json_group_array(id), json_group_array(jitter_offset)
  FROM (SELECT * FROM timers WHERE next_run_at <= :before ORDER BY next_run_at LIMIT :limit)
       AS due
  JOIN jobs ON id = job_id
 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
 ORDER BY min(next_run_at);

-- name: advance_timers
-- Jobs of one next time. Only while their schedule is the one that was read.
UPDATE timers SET next_run_at = :next_run_at
 WHERE schedule_version = :schedule_version AND job_id IN (SELECT value FROM json_each(:ids));

-- name: advance_jittered_timers
-- The same for jobs each with an offset of its own: pairs of job and next time.
UPDATE timers SET next_run_at = pairs.value ->> 1
  FROM json_each(:pairs) AS pairs
 WHERE job_id = pairs.value ->> 0 AND schedule_version = :schedule_version;

-- name: end_timers
DELETE FROM timers
 WHERE schedule_version = :schedule_version AND job_id IN (SELECT value FROM json_each(:ids));

-- name: end_jobs
UPDATE jobs SET state = 'ended'
 WHERE schedule_version = :schedule_version AND state = 'active'
   AND id IN (SELECT value FROM json_each(:ids));

-- name: begin_term
INSERT INTO terms (leader, began_at) VALUES (:leader, :now) RETURNING term;

-- name: current_term
SELECT coalesce(max(term), 0) FROM terms;

-- name: count_jobs
SELECT state, count(*) FROM jobs GROUP BY state;

-- name: store_answer
INSERT INTO answers (team, route, key, fingerprint, status, body, location, job_id, created_at)
VALUES (:team, :route, :key, :fingerprint, :status, :body, :location, :job_id, :now)
ON CONFLICT (team, route, key) DO NOTHING;

-- name: answer
SELECT fingerprint, status, body, location, job_id FROM answers
 WHERE team = :team AND route = :route AND key = :key;

-- name: forget_answers
DELETE FROM answers
 WHERE (team, route, key) IN
       (SELECT team, route, key FROM answers WHERE created_at < :before LIMIT :limit);
