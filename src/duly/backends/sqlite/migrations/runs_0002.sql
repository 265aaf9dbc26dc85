-- Each claim and each end paid for this index; what runs lies in `runs_open` or in `runs_others`.
DROP INDEX runs_held;
CREATE INDEX runs_others ON runs (job_id) WHERE exclusive = 0 AND status = 'running';
