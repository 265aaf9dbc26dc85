-- Queries of the runs database. Every dialect has the same names.

-- name: save_run
-- The key keeps the first row. (An upsert here would cost a third of planning's speed.)
INSERT INTO runs (job_id, scheduled_for, due_at, queue, priority, exclusive, schedule_version,
                  status, reason, slots, last_slot, manual, queued_at, finished_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,
        CASE WHEN ?8 = 'queued' THEN NULL ELSE ?13 END)
ON CONFLICT DO NOTHING;

-- name: save_slot
-- A slot of many jobs that fall due at one moment. One statement costs half of one for each row.
INSERT INTO runs (job_id, scheduled_for, due_at, queue, priority, exclusive, schedule_version,
                  status, manual, queued_at)
SELECT value, :slot, :due_at, :queue, :priority, :exclusive, :schedule_version, 'queued', 0, :now
  FROM json_each(:ids)
 WHERE true
ON CONFLICT DO NOTHING;

-- name: save_jittered_slot
-- The same for jobs each with an offset of its own: pairs of job and due time.
INSERT INTO runs (job_id, scheduled_for, due_at, queue, priority, exclusive, schedule_version,
                  status, manual, queued_at)
SELECT value ->> 0, :slot, value ->> 1, :queue, :priority, :exclusive, :schedule_version, 'queued',
       0, :now
  FROM json_each(:pairs)
 WHERE true
ON CONFLICT DO NOTHING;

-- name: take_up_run
-- Two kinds of row are taken up again, by a plan of a later schedule version only: one that an
-- edit voided, and one that still waits as planned from the schedule before.
UPDATE runs
   SET due_at = ?3, queue = ?4, priority = ?5, exclusive = ?6, schedule_version = ?7,
       status = ?8, reason = ?9, slots = ?10, last_slot = ?11, voided = 0,
       finished_at = CASE WHEN ?8 = 'queued' THEN NULL ELSE ?13 END
 WHERE job_id = ?1 AND scheduled_for = ?2 AND schedule_version < ?7 AND manual = ?12
   AND (voided = 1 OR (status = 'queued' AND attempts = 0 AND manual = 0));

-- name: lanes
-- The lanes of these queues in which runs wait, each with when its first falls due, as one array.
SELECT json_group_array(json_array(queue, priority, due_at))
  FROM (SELECT queues.value AS queue, priorities.value AS priority,
               (SELECT min(due_at) FROM runs
                 WHERE status = 'queued' AND queue = queues.value AND priority = priorities.value)
               AS due_at
          FROM json_each(?1) AS queues
         CROSS JOIN json_each('[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]') AS priorities)
 WHERE due_at IS NOT NULL;

-- name: claimable
SELECT json_group_array(json_array(job_id, scheduled_for, due_at, attempts, schedule_version,
                                   manual, exclusive))
  FROM (SELECT * FROM runs
         WHERE status = 'queued' AND queue = ?1 AND priority = ?2 AND due_at <= ?3
         ORDER BY due_at
         LIMIT ?4);

-- name: open_runs
-- The runs in the way, of these jobs.
SELECT job_id, scheduled_for, status
  FROM runs
 WHERE exclusive = 1 AND (status = 'running' OR (status = 'queued' AND attempts > 0))
   AND job_id IN (SELECT value FROM json_each(:ids));

-- name: take_tokens
UPDATE last_token SET token = token + :amount RETURNING token;

-- name: claim_runs
-- Pairs of slot and job, in order; their tokens follow one another.
UPDATE runs
   SET status = 'running', worker = :worker, token = :first_token + pairs.key,
       started_at = :now, attempts = attempts + 1
  FROM json_each(:pairs) AS pairs
 WHERE scheduled_for = pairs.value ->> 0 AND job_id = pairs.value ->> 1 AND status = 'queued';

-- name: skip_run
UPDATE runs SET status = 'skipped', reason = ?1, finished_at = ?2
 WHERE job_id = ?3 AND scheduled_for = ?4 AND status = 'queued';

-- name: settle_runs
-- Under the token of the claim alone. A run that goes back to the queue keeps its worker as news.
-- One statement for all: one for each would hand Python's lock over and back for each.
UPDATE runs
   SET status = value ->> 3, due_at = coalesce(value ->> 4, due_at),
       attempts = attempts - (value ->> 5), interruptions = interruptions + (value ->> 6),
       started_at = coalesce(value ->> 7, started_at), finished_at = value ->> 8,
       exit_code = value ->> 9, signal = value ->> 10, reason = value ->> 11,
       voided = value ->> 12
  FROM json_each(?1)
 WHERE job_id = value ->> 0 AND scheduled_for = value ->> 1 AND token = value ->> 2
   AND status = 'running';

-- name: settle_successes
-- The same for first tries that succeeded and wrote nothing: less to read, and to write.
UPDATE runs
   SET status = 'succeeded', started_at = value ->> 3, finished_at = value ->> 4, exit_code = 0
  FROM json_each(?1)
 WHERE job_id = value ->> 0 AND scheduled_for = value ->> 1 AND token = value ->> 2
   AND status = 'running';

-- name: record_try
INSERT INTO tries (job_id, scheduled_for, token, attempt, outcome, worker, started_at, finished_at,
                   exit_code, signal, reason)
SELECT job_id, scheduled_for, token, ?1, ?2, worker, started_at, ?3, ?4, ?5, ?6
  FROM runs WHERE job_id = ?7 AND scheduled_for = ?8;

-- name: keep_output
INSERT OR REPLACE INTO outputs (job_id, scheduled_for, token, attempt, head, tail, dropped)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);

-- name: void_runs
UPDATE runs SET status = 'canceled', voided = 1, reason = :reason, finished_at = :now
 WHERE job_id = :job_id AND status = 'queued' AND manual = 0 AND schedule_version < :version
   AND (:after IS NULL OR scheduled_for > :after)
RETURNING scheduled_for;

-- name: cancel_run
UPDATE runs SET status = 'canceled', reason = :reason, finished_at = :now
 WHERE job_id = :job_id AND scheduled_for = :scheduled_for AND status = 'queued';

-- name: run
SELECT * FROM runs WHERE job_id = :job_id AND scheduled_for = :scheduled_for;

-- name: list_runs
SELECT * FROM runs
 WHERE (:status IS NULL OR status = :status)
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND (scheduled_for, job_id) < (:before_slot, :before_job)
 ORDER BY scheduled_for DESC, job_id DESC
 LIMIT :limit;

-- name: list_dead_runs
SELECT * FROM runs
 WHERE status = 'dead'
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND (scheduled_for, job_id) < (:before_slot, :before_job)
 ORDER BY scheduled_for DESC, job_id DESC
 LIMIT :limit;

-- name: list_runs_of_job
SELECT * FROM runs
 WHERE job_id = :job_id AND (:status IS NULL OR status = :status)
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND scheduled_for < :before_slot
 ORDER BY scheduled_for DESC
 LIMIT :limit;

-- name: tries_of_run
SELECT attempt, outcome, worker, started_at, finished_at, exit_code, signal, reason
  FROM tries WHERE job_id = :job_id AND scheduled_for = :scheduled_for ORDER BY token;

-- name: output_of_run
SELECT head, tail, dropped FROM outputs
 WHERE job_id = :job_id AND scheduled_for = :scheduled_for
   AND (:attempt IS NULL OR attempt = :attempt)
 ORDER BY token DESC LIMIT 1;

-- name: beat
INSERT INTO workers (id, host, pid, queues, concurrency, started_at, beat_at)
VALUES (:id, :host, :pid, :queues, :concurrency, :started_at, :now)
ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at;

-- name: end_worker
DELETE FROM workers WHERE id = :id;

-- name: workers
SELECT id, host, pid, queues, concurrency, started_at, beat_at FROM workers ORDER BY id;

-- name: lost_runs
-- From what is running, which lies in the two indexes of open runs: few rows, whatever else there is.
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, worker, started_at
  FROM runs INDEXED BY runs_open
 WHERE status = 'running' AND exclusive = 1 AND (status = 'running' OR (status = 'queued' AND attempts > 0))
   AND worker NOT IN (SELECT id FROM workers WHERE beat_at >= :alive_since)
UNION ALL
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, worker, started_at
  FROM runs INDEXED BY runs_others
 WHERE exclusive = 0 AND status = 'running'
   AND worker NOT IN (SELECT id FROM workers WHERE beat_at >= :alive_since)
 LIMIT :limit;

-- name: held_runs
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual
  FROM runs INDEXED BY runs_open
 WHERE worker = :worker AND status = 'running'
   AND exclusive = 1 AND (status = 'running' OR (status = 'queued' AND attempts > 0))
UNION ALL
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual
  FROM runs INDEXED BY runs_others
 WHERE worker = :worker AND exclusive = 0 AND status = 'running';

-- name: count_runs
SELECT 'queued', count(*) FROM runs WHERE status = 'queued'
UNION ALL
SELECT 'running',
       (SELECT count(*) FROM runs INDEXED BY runs_open
         WHERE status = 'running' AND exclusive = 1 AND (status = 'running' OR (status = 'queued' AND attempts > 0)))
       + (SELECT count(*) FROM runs INDEXED BY runs_others
           WHERE exclusive = 0 AND status = 'running')
UNION ALL SELECT 'dead', count(*) FROM runs WHERE status = 'dead';

-- name: backlog
SELECT count(*), min(due_at) FROM runs WHERE status = 'queued' AND due_at <= :now;

-- name: first_over
-- The first run that is over, from a time on.
SELECT scheduled_for FROM runs
 WHERE scheduled_for >= :since AND scheduled_for < :before
   AND status NOT IN ('queued', 'running')
 ORDER BY scheduled_for
 LIMIT 1;

-- name: export_runs
SELECT job_id, scheduled_for, status, due_at, queue, priority, manual, schedule_version, attempts,
       interruptions, worker, token, queued_at, started_at, finished_at, exit_code, signal, reason,
       slots, last_slot
  FROM runs
 WHERE scheduled_for >= :first AND scheduled_for < :end AND status NOT IN ('queued', 'running')
   AND (job_id, scheduled_for) > (:after_job, :after_slot)
 ORDER BY job_id, scheduled_for
 LIMIT :limit;

-- name: export_tries
-- From the day's runs to their tries, for no index of the tries begins with the time.
SELECT tries.job_id, scheduled_for, tries.token, tries.attempt, tries.outcome, tries.worker,
       tries.started_at, tries.finished_at, tries.exit_code, tries.signal, tries.reason
  FROM runs CROSS JOIN tries USING (job_id, scheduled_for)
 WHERE scheduled_for >= :first AND scheduled_for < :end AND status NOT IN ('queued', 'running')
   AND (tries.job_id, scheduled_for, tries.token) > (:after_job, :after_slot, :after_token)
 ORDER BY tries.job_id, scheduled_for, tries.token
 LIMIT :limit;

-- name: export_outputs
SELECT outputs.job_id, scheduled_for, outputs.token, attempt, head, tail, dropped
  FROM runs CROSS JOIN outputs USING (job_id, scheduled_for)
 WHERE scheduled_for >= :first AND scheduled_for < :end AND status NOT IN ('queued', 'running')
   AND (outputs.job_id, scheduled_for, outputs.token) > (:after_job, :after_slot, :after_token)
 ORDER BY outputs.job_id, scheduled_for, outputs.token
 LIMIT :limit;

-- name: keys_over
SELECT scheduled_for, job_id FROM runs
 WHERE scheduled_for >= :first AND scheduled_for < :end AND status NOT IN ('queued', 'running');

-- name: count_tries
SELECT count(*) FROM runs CROSS JOIN tries USING (job_id, scheduled_for)
 WHERE scheduled_for >= :first AND scheduled_for < :end AND status NOT IN ('queued', 'running');

-- name: count_outputs
SELECT count(*) FROM runs CROSS JOIN outputs USING (job_id, scheduled_for)
 WHERE scheduled_for >= :first AND scheduled_for < :end AND status NOT IN ('queued', 'running');

-- name: forget_outputs
DELETE FROM outputs WHERE (job_id, scheduled_for) IN
       (SELECT value ->> 1, value ->> 0 FROM json_each(:keys));

-- name: forget_tries
DELETE FROM tries WHERE (job_id, scheduled_for) IN
       (SELECT value ->> 1, value ->> 0 FROM json_each(:keys));

-- name: forget_runs
DELETE FROM runs WHERE (scheduled_for, job_id) IN
       (SELECT value ->> 0, value ->> 1 FROM json_each(:keys));
