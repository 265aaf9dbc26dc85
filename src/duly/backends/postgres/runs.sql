-- Queries of the runs database. Every dialect has the same names, as far as it has the same tables.

-- name: now
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

-- name: save_runs
-- Rows to come. The key keeps the first.
INSERT INTO duly.queue (job_id, scheduled_for, due_at, queue, priority, exclusive, schedule_version,
                        manual, queued_at)
SELECT job_id, slot, due_at, queue, priority, exclusive, schedule_version, manual,
       coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
  FROM unnest(:job_ids::text::bigint[], :slots::text::bigint[], :due_ats::text::bigint[],
              :queues::text[], :priorities::text::smallint[], :exclusives::text::boolean[],
              :versions::text::bigint[], :manuals::text::boolean[])
       AS new (job_id, slot, due_at, queue, priority, exclusive, schedule_version, manual)
ON CONFLICT DO NOTHING;

-- name: save_slot
-- Rows to come of one slot that differ in nothing but the job and when it falls due. Where one is
-- there already all of it is refused: to look for each would cost a third of the insert.
INSERT INTO duly.queue (job_id, scheduled_for, due_at, queue, priority, exclusive, schedule_version,
                        manual, queued_at)
SELECT job_id, :slot::bigint, :slot + coalesce(jitter, 0), :queue::text, :priority::smallint,
       :exclusive::boolean, :version::bigint, false,
       coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
  FROM unnest(:job_ids::text::bigint[], :offsets::text::bigint[]) AS new (job_id, jitter);

-- name: any_over
-- A row where history may hold some of a slot: one look for thousands. Asked after the insert, in its
-- transaction: whoever ended one in between had committed before the insert could take its key.
SELECT 1 FROM duly.runs
 WHERE scheduled_for = :slot AND job_id BETWEEN :first AND :last
 LIMIT 1;

-- name: over
-- Those that history holds: a look into the index for each, whatever the planner thinks of arrays.
SELECT history.*
  FROM unnest(:job_ids::text::bigint[], :slots::text::bigint[]) AS keys (job_id, slot)
 CROSS JOIN LATERAL
       (SELECT job_id, scheduled_for, voided, manual, schedule_version
          FROM duly.runs
         WHERE scheduled_for = keys.slot AND job_id = keys.job_id
        OFFSET 0) AS history;

-- name: withdraw_runs
-- Rows that were just saved and must not be.
DELETE FROM duly.queue
 USING unnest(:job_ids::bigint[], :slots::bigint[]) AS keys (job_id, slot)
 WHERE queue.job_id = keys.job_id AND scheduled_for = slot;

-- name: revive_runs
-- History gives up what an edit had voided.
DELETE FROM duly.runs
 USING unnest(:job_ids::bigint[], :slots::bigint[]) AS keys (job_id, slot)
 WHERE runs.job_id = keys.job_id AND scheduled_for = slot AND voided;

-- name: take_up_runs
-- Rows that still wait as planned from the schedule before.
UPDATE duly.queue
   SET due_at = new.due_at, queue = new.queue, priority = new.priority, exclusive = new.exclusive,
       schedule_version = new.schedule_version
  FROM unnest(:job_ids::text::bigint[], :slots::text::bigint[], :due_ats::text::bigint[],
              :queues::text[], :priorities::text::smallint[], :exclusives::text::boolean[],
              :versions::text::bigint[], :manuals::text::boolean[])
       AS new (job_id, slot, due_at, queue, priority, exclusive, schedule_version, manual)
 WHERE queue.job_id = new.job_id AND queue.scheduled_for = new.slot
   AND queue.schedule_version < new.schedule_version AND attempts = 0 AND NOT running
   AND NOT queue.manual AND NOT new.manual
RETURNING queue.job_id, queue.scheduled_for;

-- name: file_planned
-- Planned rows that record what will not run go on into history.
WITH gone AS (
  DELETE FROM duly.queue
   USING unnest(:job_ids::bigint[], :slots::bigint[], :statuses::text[], :reasons::text[],
                :counts::bigint[], :last_slots::bigint[])
         AS new (job_id, slot, new_status, new_reason, new_slots, new_last)
   WHERE queue.job_id = new.job_id AND scheduled_for = slot AND NOT running
  RETURNING queue.*, new_status, new_reason, new_slots, new_last
)
INSERT INTO duly.runs (job_id, scheduled_for, status, due_at, queue, priority, manual,
                       schedule_version, attempts, interruptions, queued_at, finished_at, reason,
                       slots, last_slot)
SELECT job_id, scheduled_for, new_status, due_at, queue, priority, manual, schedule_version,
       attempts, interruptions, queued_at, queued_at, new_reason, new_slots, new_last
  FROM gone;

-- name: claim
-- In the order (priority, due_at), past rows that another claim holds. Where that would open a second
-- run of a job that allows one, the index says so, and `claim_judged` does it again with a look.
WITH present AS MATERIALIZED (
  SELECT coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), lanes AS MATERIALIZED (
  SELECT *
    FROM unnest(:lane_queues::text[], :lane_priorities::smallint[], :lane_floors::bigint[])
         WITH ORDINALITY AS known (name, lane, floor, place)
   ORDER BY known.place
), claimed AS (
  UPDATE duly.queue
     SET running = true, worker = :worker, token = nextval('duly.last_token'),
         started_at = (SELECT now FROM present), attempts = attempts + 1
   WHERE ctid = ANY (ARRAY(
           SELECT found.ctid
             FROM present CROSS JOIN lanes
            CROSS JOIN LATERAL
                  (SELECT ctid
                     FROM duly.queue
                    WHERE NOT running AND queue = name AND priority = lane
                      AND due_at >= floor AND due_at <= present.now
                    ORDER BY due_at
                    LIMIT :limit
                      FOR UPDATE SKIP LOCKED) AS found
            LIMIT :limit))
  RETURNING job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, priority,
            queue
)
SELECT claimed.*, now FROM claimed, present ORDER BY priority, due_at;

-- name: claim_judged
-- The same. An exclusive run whose job has an open run, or another one in this very claim, goes into
-- history as skipped.
WITH present AS MATERIALIZED (
  SELECT coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
), lanes AS MATERIALIZED (
  SELECT *
    FROM unnest(:lane_queues::text[], :lane_priorities::smallint[], :lane_floors::bigint[])
         WITH ORDINALITY AS known (name, lane, floor, place)
   ORDER BY known.place
), due AS MATERIALIZED (
  SELECT found.*
    FROM present CROSS JOIN lanes
   CROSS JOIN LATERAL
         (SELECT ctid AS place, job_id, scheduled_for, priority, due_at, exclusive
            FROM duly.queue
           WHERE NOT running AND queue = name AND priority = lane
             AND due_at >= floor AND due_at <= present.now
           ORDER BY due_at
           LIMIT :limit
             FOR UPDATE SKIP LOCKED) AS found
   LIMIT :limit
), judged AS MATERIALIZED (
  SELECT due.*, coalesce(open_run.scheduled_for, nullif(first_here, due.scheduled_for)) AS other,
         coalesce(open_run.running, true) AS other_runs
    FROM (SELECT *, CASE WHEN exclusive
                    THEN first_value(scheduled_for) OVER (PARTITION BY job_id, exclusive
                                                          ORDER BY priority, due_at, scheduled_for)
                    END AS first_here
            FROM due) AS due
    LEFT JOIN LATERAL
         (SELECT scheduled_for, running
            FROM duly.queue
           WHERE job_id = due.job_id AND exclusive AND (running OR attempts > 0)
             AND due.exclusive AND scheduled_for <> due.scheduled_for
           LIMIT 1) AS open_run ON true
), claimed AS (
  UPDATE duly.queue
     SET running = true, worker = :worker, token = nextval('duly.last_token'),
         started_at = (SELECT now FROM present), attempts = attempts + 1
   WHERE ctid = ANY (ARRAY(SELECT place FROM judged WHERE other IS NULL))
  RETURNING job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, priority,
            queue
), dropped AS (
  DELETE FROM duly.queue
   WHERE ctid = ANY (ARRAY(SELECT place FROM judged WHERE other IS NOT NULL))
  RETURNING *
), filed AS (
  INSERT INTO duly.runs (job_id, scheduled_for, status, due_at, queue, priority, manual,
                         schedule_version, attempts, interruptions, worker, token, queued_at,
                         started_at, finished_at, reason)
  SELECT job_id, scheduled_for, 'skipped', dropped.due_at, queue, dropped.priority, manual,
         schedule_version, attempts, interruptions, worker, token, queued_at, started_at,
         (SELECT now FROM present),
         'overlap: j' || job_id || '.'
         || to_char(to_timestamp(other / 1000000) AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS')
         || CASE WHEN other % 1000000 = 0 THEN ''
            ELSE '.' || rtrim(lpad((other % 1000000)::text, 6, '0'), '0') END
         || CASE WHEN other_runs THEN 'Z was still running' ELSE 'Z was waiting for a retry' END
    FROM dropped JOIN judged USING (job_id, scheduled_for)
)
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, priority, queue,
       now
  FROM claimed, present
UNION ALL
SELECT job_id, scheduled_for, due_at, 0, 0, 0, false, priority, queue, now FROM dropped, present
ORDER BY priority, due_at;

-- name: look
-- When the first run of each known lane falls due, and which priority comes first in each gap
-- between them, where there is any.
WITH present AS MATERIALIZED (
  SELECT coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS now
)
SELECT true AS known, name AS queue, lane AS priority, now,
       (SELECT due_at
          FROM duly.queue
         WHERE NOT running AND queue = name AND priority = lane AND due_at >= floor
         ORDER BY due_at
         LIMIT 1) AS due_at
  FROM unnest(:lane_queues::text[], :lane_priorities::smallint[], :lane_floors::bigint[])
       AS known (name, lane, floor),
       present
UNION ALL
SELECT false, name,
       (SELECT priority
          FROM duly.queue
         WHERE NOT running AND queue = name AND priority BETWEEN low AND high
         ORDER BY priority
         LIMIT 1),
       now, NULL
  FROM unnest(:gap_queues::text[], :gap_lows::smallint[], :gap_highs::smallint[])
       AS gaps (name, low, high),
       present;

-- name: settle
-- Under the tokens of the claims alone. What is over moves into history; what is to be tried again
-- stays, and keeps its worker as news.
WITH ends AS MATERIALIZED (
  SELECT *
    FROM unnest(:job_ids::text::bigint[], :slots::text::bigint[], :tokens::text::bigint[],
                :outcomes::text::text[], :statuses::text::text[], :finished_ats::text::bigint[],
                :started_ats::text::bigint[], :due_ats::text::bigint[],
                :given_back::text::integer[], :exit_codes::text::integer[],
                :signals::text::integer[], :reasons::text[], :heads::bytea[], :tails::bytea[],
                :dropped::text::bigint[])
         WITH ORDINALITY
         AS ends (for_job, slot, for_token, outcome, status, ended_at, began_at, again_at,
                  given_back, code, with_signal, why, head, tail, missing, place)
), held AS MATERIALIZED (
  -- By the key, row by row: whatever the planner thinks of how many run at present.
  SELECT ends.*, found.*, coalesce(began_at, started_at) AS start
    FROM ends
   CROSS JOIN LATERAL
         (SELECT ctid AS at, running, due_at, queue, priority, manual, schedule_version, attempts,
                 interruptions, worker, queued_at, started_at
            FROM duly.queue
           WHERE job_id = for_job AND scheduled_for = slot AND token = for_token
           LIMIT 1
             FOR UPDATE) AS found
   WHERE running
), gone AS (
  DELETE FROM duly.queue
   WHERE ctid = ANY (ARRAY(SELECT at FROM held WHERE status <> 'queued'))
), filed AS (
  INSERT INTO duly.runs (job_id, scheduled_for, status, due_at, queue, priority, manual,
                         schedule_version, attempts, interruptions, worker, token, queued_at,
                         started_at, finished_at, exit_code, signal, reason, voided)
  SELECT for_job, slot, status, due_at, queue, priority, manual, schedule_version,
         attempts - given_back, interruptions + (outcome = 'interrupted')::integer, worker,
         for_token, queued_at, start, ended_at, code, with_signal, why, outcome = 'canceled'
    FROM held
   WHERE status <> 'queued'
), back AS (
  UPDATE duly.queue
     SET running = false, due_at = coalesce(again_at, held.due_at),
         attempts = held.attempts - given_back,
         interruptions = held.interruptions + (outcome = 'interrupted')::integer,
         started_at = start, finished_at = ended_at, exit_code = code, signal = with_signal,
         reason = why
    FROM held
   WHERE queue.ctid = at AND status = 'queued'
), tried AS (
  INSERT INTO duly.tries (job_id, scheduled_for, token, attempt, outcome, worker, started_at,
                          finished_at, exit_code, signal, reason)
  SELECT for_job, slot, for_token, attempts, outcome, worker, start, ended_at, code, with_signal, why
    FROM held
   WHERE outcome <> 'succeeded' OR attempts > 1
), kept AS (
  INSERT INTO duly.outputs (job_id, scheduled_for, token, attempt, head, tail, dropped)
  SELECT for_job, slot, for_token, attempts, head, tail, missing
    FROM held
   WHERE head IS NOT NULL
)
SELECT place FROM held;

-- name: settle_successes
-- The same for first tries that succeeded and wrote nothing: less to read, and to write.
WITH ends AS MATERIALIZED (
  SELECT *
    FROM unnest(:job_ids::text::bigint[], :slots::text::bigint[], :tokens::text::bigint[],
                :finished_ats::text::bigint[], :started_ats::text::bigint[])
         WITH ORDINALITY AS ends (for_job, slot, for_token, ended_at, began_at, place)
), held AS MATERIALIZED (
  SELECT ends.*, found.*
    FROM ends
   CROSS JOIN LATERAL
         (SELECT ctid AS at, running, due_at, queue, priority, manual, schedule_version, attempts,
                 interruptions, worker, queued_at
            FROM duly.queue
           WHERE job_id = for_job AND scheduled_for = slot AND token = for_token
           LIMIT 1
             FOR UPDATE) AS found
   WHERE running
), gone AS (
  DELETE FROM duly.queue WHERE ctid = ANY (ARRAY(SELECT at FROM held))
), filed AS (
  INSERT INTO duly.runs (job_id, scheduled_for, status, due_at, queue, priority, manual,
                         schedule_version, attempts, interruptions, worker, token, queued_at,
                         started_at, finished_at, exit_code)
  SELECT for_job, slot, 'succeeded', due_at, queue, priority, manual, schedule_version, attempts,
         interruptions, worker, for_token, queued_at, began_at, ended_at, 0
    FROM held
)
SELECT place FROM held;

-- name: void_runs
WITH gone AS (
  DELETE FROM duly.queue
   WHERE job_id = :job_id AND NOT running AND NOT manual AND schedule_version < :version
     AND (:after::bigint IS NULL OR scheduled_for > :after)
  RETURNING *
), filed AS (
  INSERT INTO duly.runs (job_id, scheduled_for, status, due_at, queue, priority, manual,
                         schedule_version, attempts, interruptions, worker, token, queued_at,
                         started_at, finished_at, exit_code, signal, reason, voided)
  SELECT job_id, scheduled_for, 'canceled', due_at, queue, priority, manual, schedule_version,
         attempts, interruptions, worker, token, queued_at, started_at, :now::bigint, exit_code,
         signal, :reason::text, true
    FROM gone
)
SELECT scheduled_for FROM gone ORDER BY scheduled_for;

-- name: cancel_run
WITH gone AS (
  DELETE FROM duly.queue
   WHERE job_id = :job_id AND scheduled_for = :scheduled_for AND NOT running
  RETURNING *
), filed AS (
  INSERT INTO duly.runs (job_id, scheduled_for, status, due_at, queue, priority, manual,
                         schedule_version, attempts, interruptions, worker, token, queued_at,
                         started_at, finished_at, exit_code, signal, reason)
  SELECT job_id, scheduled_for, 'canceled', due_at, queue, priority, manual, schedule_version,
         attempts, interruptions, worker, token, queued_at, started_at, :now::bigint, exit_code,
         signal, :reason::text
    FROM gone
)
SELECT scheduled_for FROM gone;

-- name: open_days
-- The days of what is open, of one job or of all: those that history may be about to need.
SELECT DISTINCT scheduled_for / 86400000000 FROM duly.queue
 WHERE :job_id::bigint IS NULL OR job_id = :job_id;

-- name: run
SELECT job_id, scheduled_for, CASE WHEN running THEN 'running' ELSE 'queued' END AS status, due_at,
       queue, priority, manual, schedule_version, attempts, interruptions, worker, token, queued_at,
       started_at, finished_at, exit_code, signal, reason, 1::bigint AS slots,
       NULL::bigint AS last_slot
  FROM duly.queue
 WHERE job_id = :job_id AND scheduled_for = :scheduled_for
UNION ALL
SELECT job_id, scheduled_for, status, due_at, queue, priority, manual, schedule_version, attempts,
       interruptions, worker, token, queued_at, started_at, finished_at, exit_code, signal, reason,
       slots, last_slot
  FROM duly.runs
 WHERE job_id = :job_id AND scheduled_for = :scheduled_for;

-- name: list_open_runs
-- What is queued or running, newest first. Few rows but in a rush.
SELECT job_id, scheduled_for, CASE WHEN running THEN 'running' ELSE 'queued' END AS status, due_at,
       queue, priority, manual, schedule_version, attempts, interruptions, worker, token, queued_at,
       started_at, finished_at, exit_code, signal, reason, 1::bigint AS slots,
       NULL::bigint AS last_slot
  FROM duly.queue
 WHERE (:job_id::bigint IS NULL OR job_id = :job_id)
   AND (:status::text IS NULL OR running = (:status = 'running'))
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND (scheduled_for, job_id) < (:before_slot::bigint, :before_job::bigint)
 ORDER BY scheduled_for DESC, job_id DESC
 LIMIT :limit;

-- name: list_runs
SELECT job_id, scheduled_for, status, due_at, queue, priority, manual, schedule_version, attempts,
       interruptions, worker, token, queued_at, started_at, finished_at, exit_code, signal, reason,
       slots, last_slot
  FROM duly.runs
 WHERE (:status::text IS NULL OR status = :status)
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND (scheduled_for, job_id) < (:before_slot::bigint, :before_job::bigint)
 ORDER BY scheduled_for DESC, job_id DESC
 LIMIT :limit;

-- name: list_dead_runs
SELECT job_id, scheduled_for, status, due_at, queue, priority, manual, schedule_version, attempts,
       interruptions, worker, token, queued_at, started_at, finished_at, exit_code, signal, reason,
       slots, last_slot
  FROM duly.runs
 WHERE status = 'dead'
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND (scheduled_for, job_id) < (:before_slot::bigint, :before_job::bigint)
 ORDER BY scheduled_for DESC, job_id DESC
 LIMIT :limit;

-- name: list_runs_of_job
SELECT job_id, scheduled_for, status, due_at, queue, priority, manual, schedule_version, attempts,
       interruptions, worker, token, queued_at, started_at, finished_at, exit_code, signal, reason,
       slots, last_slot
  FROM duly.runs
 WHERE job_id = :job_id AND (:status::text IS NULL OR status = :status)
   AND scheduled_for >= :since AND scheduled_for <= :until
   AND scheduled_for < :before_slot
 ORDER BY scheduled_for DESC
 LIMIT :limit;

-- name: tries_of_run
SELECT attempt, outcome, worker, started_at, finished_at, exit_code, signal, reason
  FROM duly.tries WHERE job_id = :job_id AND scheduled_for = :scheduled_for ORDER BY token;

-- name: output_of_run
SELECT head, tail, dropped FROM duly.outputs
 WHERE job_id = :job_id AND scheduled_for = :scheduled_for
   AND (:attempt::integer IS NULL OR attempt = :attempt)
 ORDER BY token DESC LIMIT 1;

-- name: beat
INSERT INTO duly.workers (id, host, pid, queues, concurrency, started_at, beat_at)
VALUES (:id, :host, :pid, :queues, :concurrency, :started_at,
        coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at;

-- name: end_worker
DELETE FROM duly.workers WHERE id = :id;

-- name: workers
SELECT id, host, pid, queues, concurrency, started_at, beat_at FROM duly.workers ORDER BY id;

-- name: lost_runs
-- From what is running, which lies in the two indexes of open runs: few rows, whatever else there is.
WITH open_runs AS MATERIALIZED (
  SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, worker, started_at
    FROM duly.queue WHERE running AND exclusive AND (running OR attempts > 0)
  UNION ALL
  SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual, worker, started_at
    FROM duly.queue WHERE running AND NOT exclusive
)
SELECT * FROM open_runs
 WHERE worker NOT IN
       (SELECT id FROM duly.workers
         WHERE beat_at >= coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
                          - :silent_for::bigint)
 LIMIT :limit;

-- name: held_runs
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual
  FROM duly.queue
 WHERE worker = :worker AND running AND exclusive AND (running OR attempts > 0)
UNION ALL
SELECT job_id, scheduled_for, due_at, attempts, token, schedule_version, manual
  FROM duly.queue
 WHERE worker = :worker AND running AND NOT exclusive;

-- name: backlog
SELECT count(*) FILTER (WHERE NOT running) AS queued, count(*) FILTER (WHERE running) AS running,
       (SELECT count(*) FROM duly.runs WHERE status = 'dead') AS dead,
       count(*) FILTER (WHERE NOT running AND due_at <= present) AS claimable,
       min(due_at) FILTER (WHERE NOT running AND due_at <= present) AS oldest
  FROM duly.queue,
       (SELECT coalesce(:now, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint))
       AS clock (present);

-- name: export_runs
-- A page of one day's partition, along its index of jobs.
SELECT job_id, scheduled_for, status, due_at, queue, priority, manual, schedule_version, attempts,
       interruptions, worker, token, queued_at, started_at, finished_at, exit_code, signal, reason,
       slots, last_slot
  FROM duly.runs
 WHERE scheduled_for >= :first AND scheduled_for < :end
   AND (job_id, scheduled_for) > (:after_job::bigint, :after_slot::bigint)
 ORDER BY job_id, scheduled_for
 LIMIT :limit;

-- name: export_tries
SELECT job_id, scheduled_for, token, attempt, outcome, worker, started_at, finished_at, exit_code,
       signal, reason
  FROM duly.tries
 WHERE scheduled_for >= :first AND scheduled_for < :end
   AND (job_id, scheduled_for, token) > (:after_job::bigint, :after_slot::bigint, :after_token::bigint)
 ORDER BY job_id, scheduled_for, token
 LIMIT :limit;

-- name: export_outputs
SELECT job_id, scheduled_for, token, attempt, head, tail, dropped
  FROM duly.outputs
 WHERE scheduled_for >= :first AND scheduled_for < :end
   AND (job_id, scheduled_for, token) > (:after_job::bigint, :after_slot::bigint, :after_token::bigint)
 ORDER BY job_id, scheduled_for, token
 LIMIT :limit;
