// pg-boss: node pgboss.mjs URL N, in the folder that install.py filled.
// Finished jobs stay, as completed; the time ends when no other state is left.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const BATCH = 1_000;
const LOCAL_CONCURRENCY = 3;
const POOL = 10;
const INSERT_AT_ONCE = 5_000;
const QUEUE = "nothing";

const [url, count] = process.argv.slice(2);
const jobs = Number(count);
const require = createRequire(join(process.cwd(), "here.js"));
const { PgBoss } = require("pg-boss");
const { Pool } = require("pg");
const installed = join(process.cwd(), "node_modules", "pg-boss", "package.json");
const { version } = JSON.parse(readFileSync(installed, "utf8"));

const watcher = new Pool({ connectionString: url, max: 1 });
const inState = async (comparison) => {
  const sql = `select count(*)::int as n from pgboss.job where name = $1 and state ${comparison}`;
  const { rows } = await watcher.query(sql, [QUEUE]);
  return rows[0].n;
};

const boss = new PgBoss({ connectionString: url, max: POOL, schedule: false });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE, { partition: true });
for (let added = 0; added < jobs; added += INSERT_AT_ONCE) {
  const length = Math.min(INSERT_AT_ONCE, jobs - added);
  await boss.insert(QUEUE, Array.from({ length }, () => ({ data: {} })));
}
if ((await inState("= 'created'")) !== jobs) throw new Error("not all jobs were added");
await watcher.query("vacuum analyze");

let done = 0;
let allRan;
const ran = new Promise((resolve) => (allRan = resolve));
const nothing = async (batch) => {
  done += batch.length;
  if (done === jobs) allRan();
};

const began = performance.now();
const options = {
  batchSize: BATCH,
  localConcurrency: LOCAL_CONCURRENCY,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
};
await boss.work(QUEUE, options, nothing);
await ran;
while ((await inState("<> 'completed'")) > 0) await sleep(5);
const seconds = (performance.now() - began) / 1000;

const completed = await inState("= 'completed'");
await boss.stop({ graceful: true });
await watcher.end();
if (done !== jobs || completed !== jobs) throw new Error(`${done}, ${completed} of ${jobs} jobs`);
console.log(
  JSON.stringify({
    peer: "pg-boss",
    version,
    jobs,
    seconds,
    per_s: jobs / seconds,
    settings:
      `1 process, batchSize ${BATCH}, localConcurrency ${LOCAL_CONCURRENCY}, ` +
      `burstWhenBatchFull, queue in a partition of its own, pool ${POOL}`,
    history: "kept",
  }),
);
