// graphile-worker: node graphile.mjs URL N, in the folder that install.py filled.
// Finished jobs are deleted; the time ends when the table of jobs is empty.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const CONCURRENCY = 24;
const LOCAL_QUEUE = 2_000;
const COMPLETE_DELAY_MS = 0;
const POOL = 10;
const ADD_AT_ONCE = 10_000;

const [url, count] = process.argv.slice(2);
const jobs = Number(count);
const require = createRequire(join(process.cwd(), "here.js"));
const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const { Pool } = require("pg");
const installed = join(process.cwd(), "node_modules", "graphile-worker", "package.json");
const { version } = JSON.parse(readFileSync(installed, "utf8"));

const quiet = new Logger(() => (level, message) => {
  if (level === "error") console.error(message);
});
const watcher = new Pool({ connectionString: url, max: 1 });
const left = async () => {
  const { rows } = await watcher.query("select count(*)::int as n from graphile_worker.jobs");
  return rows[0].n;
};

const utils = await makeWorkerUtils({ connectionString: url, logger: quiet });
await utils.migrate();
for (let added = 0; added < jobs; added += ADD_AT_ONCE) {
  const length = Math.min(ADD_AT_ONCE, jobs - added);
  await utils.addJobs(Array.from({ length }, () => ({ identifier: "nothing", payload: {} })));
}
await utils.release();
if ((await left()) !== jobs) throw new Error("not all jobs were added");
await watcher.query("vacuum analyze");

let done = 0;
let allRan;
const ran = new Promise((resolve) => (allRan = resolve));
const nothing = async () => {
  done += 1;
  if (done === jobs) allRan();
};

const began = performance.now();
const runner = await run({
  connectionString: url,
  logger: quiet,
  noHandleSignals: true,
  taskList: { nothing },
  parsedCronItems: [],
  preset: {
    worker: {
      concurrentJobs: CONCURRENCY,
      maxPoolSize: POOL,
      localQueue: { size: LOCAL_QUEUE },
      completeJobBatchDelay: COMPLETE_DELAY_MS,
      failJobBatchDelay: COMPLETE_DELAY_MS,
    },
  },
});
await ran;
while ((await left()) > 0) await sleep(5);
const seconds = (performance.now() - began) / 1000;

await runner.stop();
await watcher.end();
if (done !== jobs) throw new Error(`${done} runs of ${jobs} jobs`);
console.log(
  JSON.stringify({
    peer: "graphile-worker",
    version,
    jobs,
    seconds,
    per_s: jobs / seconds,
    settings:
      `1 process, concurrentJobs ${CONCURRENCY}, localQueue ${LOCAL_QUEUE}, ` +
      `completeJobBatchDelay ${COMPLETE_DELAY_MS} ms, pool ${POOL}`,
    history: "deleted",
  }),
);
