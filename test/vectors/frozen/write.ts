// Writes stored.json, histories.json and history-digests.json from the source around it. Run it in a worktree of the
// commit whose stored forms and answers are to be frozen. What is frozen is never written again: `-- --add` keeps it, and
// adds those of the named histories that stored.json does not have.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { Redis } from "ioredis";
import pg from "pg";
import { PostgresStore } from "sluice/postgres";
import type { Records } from "sluice/store";
import { postgresUrl, redisUrl } from "../../helpers/services.js";
import { casBench, objectBench, postgresBench, redisBench, sqlBench, take, type Bench } from "./benches.js";
import { digestOf, DIGESTS, HISTORIES, runInCore, stored as frozen, type StoredVector } from "./history.js";
import { namedHistories, type NamedHistory } from "./named-histories.js";
import { historyOf } from "./random-history.js";

const RANDOM = 24;
const table = `frozen_${process.pid}`;
const client = new Redis(redisUrl());
const pool = new pg.Pool({ connectionString: postgresUrl() });
await new PostgresStore(pool, { table, timeoutMs: Infinity }).migrate();

/** Runs a history to its end. Returns the later answers, and what is kept after each half. */
async function run<Row>(bench: Bench<Row>, history: NamedHistory): Promise<{ answers: string[]; rows: [Row | null, Row | null] }> {
  await take(bench, history, history.steps.slice(0, history.first));
  const middle = await bench.read();
  const answers = await take(bench, history, history.steps.slice(history.first));
  return { answers, rows: [middle, await bench.read()] };
}

async function write(history: NamedHistory): Promise<StoredVector> {
  const { why, key, start, policies, steps, first } = history;
  const records: Records = new Map();
  const core = runInCore(history, records);
  const answers = core.answers.slice(first);
  const agree = <Run extends { answers: string[] }>(each: Run): Run => (assert.deepEqual(each.answers, answers, why), each);

  const { now } = Date;
  const texts = [agree(await run(sqlBench(true), history)), agree(await run(sqlBench(false), history)), agree(await run(casBench(), history))];
  texts.push(agree(await run(objectBench((to) => void (Date.now = () => to)), history)));
  Date.now = now;
  const [{ rows: sql }] = texts as [(typeof texts)[0]];
  // Only these differ: a value without records.
  for (const { rows } of texts) rows.forEach((row, i) => sql[i]?.[1] !== "sluice1" && assert.deepEqual(row, sql[i], why));
  const prefix = `frozen${Math.random().toString(36).slice(2)}`;
  const redis = agree(await run(redisBench(client, prefix), history)).rows;
  await client.del(...(await client.keys(`${prefix}:*`)), "none");
  await pool.query(`TRUNCATE ${table}`);
  const postgres = agree(await run(postgresBench(pool, table), history)).rows;
  return {
    why, key, start, policies, first: steps.slice(0, first), rest: steps.slice(first), answers,
    records: [core.after[first - 1] as string, core.after.at(-1) as string], sql, redis, postgres,
  };
}

/** One vector on each line. */
function save(name: string, vectors: readonly unknown[]): void {
  writeFileSync(new URL(`${name}.json`, import.meta.url), `[\n${vectors.map((vector) => JSON.stringify(vector)).join(",\n")}\n]\n`);
}

const isAdded = process.argv.includes("--add");
const stored: StoredVector[] = isAdded ? [...frozen] : [];
for (const history of namedHistories) if (!stored.some(({ why }) => why === history.why)) stored.push(await write(history));
if (isAdded) {
  save("stored", stored);
  await end();
  process.exit();
}
// Stores may forget what has come back, and under a clock that steps back this shows. Such histories are left out.
for (let seed = 100_001; stored.length < namedHistories.length + RANDOM; seed++) {
  const history = historyOf(seed);
  const named = { ...history, why: `random: seed ${seed}`, first: Math.floor(history.steps.length / 2) };
  try {
    stored.push(await write(named));
  } catch (error) {
    if (!(error instanceof assert.AssertionError)) throw error;
    console.log(`seed ${seed} is left out`, error.message.slice(0, 2000));
  }
}
save("stored", stored);

const whole = [];
for (let seed = 1; seed <= HISTORIES; seed++) {
  const history = historyOf(seed);
  const { answers, after } = runInCore(history, new Map());
  whole.push({ seed, ...history, answers, records: after.at(-1) });
}
save("histories", whole);
const digests = [];
for (let seed = 1; seed <= DIGESTS; seed++) {
  const { answers, after } = runInCore(historyOf(seed), new Map());
  digests.push([seed, digestOf(answers), digestOf(after)]);
}
save("history-digests", digests);
await end();

async function end(): Promise<void> {
  await client.quit();
  await pool.query(`DROP TABLE ${table}; DROP FUNCTION ${table}_decide, ${table}_grant`);
  await pool.end();
}
