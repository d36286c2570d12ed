// The first screen of docs/performance.md: one row for each section, with the figures of its last whole run in one
// sentence, its day and its machine.
import type { Results } from "./results.js";

interface Row {
  readonly section: string;
  readonly area: string;
  /** The name of a goal in braces becomes its measured median. */
  readonly says: string;
}

const FLEXIBLE = "rate-limiter-flexible";

const ROWS: readonly Row[] = [
  {
    section: "decision",
    area: "[One decision in memory](#one-decision-in-memory)",
    says: `Beside reading and writing a bare Map it takes {2 keys of 37 characters: one limit, beside a bare Map} times as long for 2 callers, {1 000 keys of 37 characters: one limit, beside a bare Map} for 1,000 and {100 000 keys of 37 characters: one limit, beside a bare Map} for 100,000. A caller takes {bytes a key} bytes in a table that is as full as it gets.`,
  },
  {
    section: "gate",
    area: "[A request](#a-request)",
    says: "With three fields sluice adds on Fastify {Fastify 5: what three fields add, beside @fastify/rate-limit} of what the peer adds, on Express {Express 5: what three fields add, beside express-rate-limit}, on Node {Node http: what three fields add, beside rate-limiter-flexible} and on Hono {Hono on Node: what three fields add, beside hono-rate-limiter}. Where the control is shown, this run can tell nothing.",
  },
  {
    section: "redis",
    area: "[Redis](#redis)",
    says: `Decisions a second, times ${FLEXIBLE}, for 1, 64 and 512 callers: {ioredis, 1, known keys: decisions/s}, {ioredis, 64: decisions/s} and {ioredis, 512: decisions/s} on ioredis, {node-redis, 1, known keys: decisions/s}, {node-redis, 64: decisions/s} and {node-redis, 512: decisions/s} on node-redis.`,
  },
  {
    section: "cluster",
    area: "[Redis Cluster](#redis-cluster)",
    says: "The same on three masters: {ioredis, cluster, 1, known keys: decisions/s}, {ioredis, cluster, 64: decisions/s} and {ioredis, cluster, 512: decisions/s} on ioredis, {node-redis, cluster, 1, known keys: decisions/s}, {node-redis, cluster, 64: decisions/s} and {node-redis, cluster, 512: decisions/s} on node-redis.",
  },
  {
    section: "postgres",
    area: "[Postgres](#postgres)",
    says: "A decision takes {Postgres, 1: time of a decision, beside a bare upsert} times as long as a bare upsert for one caller, {Postgres, 10: time of a decision, beside a bare upsert} for 10, {Postgres, 64: time of a decision, beside a bare upsert} for 64 and {Postgres, 256: time of a decision, beside a bare upsert} for 256.",
  },
  {
    section: "window",
    area: "[Sliding windows](#sliding-windows)",
    says: "A window takes {a window in memory, times a rate} times as long as a rate in memory, and makes {decisions of a window over Redis, of those of a rate} of its decisions over Redis. Of 100 a minute it lets {most in any minute under a window of 100} through in any minute, and no more.",
  },
  {
    section: "lease",
    area: "[Leases](stores/lease.md)",
    says: `512 callers on 20 hot keys get {ioredis, 512 callers, 20 keys, leased: decisions/s} times the decisions of ${FLEXIBLE} on ioredis, and {node-redis, 512 callers, 20 keys, leased: decisions/s} times on node-redis.`,
  },
  {
    section: "waiting",
    area: "[Waiting](#waiting)",
    says: "Four processes that wait for one key of capacity 10 take {Four processes on one key of capacity 10: times the ideal} times the ideal time, and more at a capacity of 1.",
  },
  {
    section: "adaptive",
    area: "[A limit that finds its number](guides/adaptive-figures.md)",
    says: "With 8 and 64 workers, from ten seconds after a change on, it gives at least {8 workers: useful answers, % of the best fixed number's, lowest cell} % of the useful answers of the best fixed number.",
  },
  {
    section: "overload",
    area: "[The same over HTTP](guides/adaptive-figures.md)",
    says: "At twice the load, the 99th percentile of a service that waits for queries is {I/O-bound Express: 99th percentile, beside alone} times that of the service alone, and {CPU-bound Express: 99th percentile, beside alone} times for one that waits and computes.",
  },
  {
    section: "simulate",
    area: "[A log replayed](#the-rest)",
    says: "`simulate` reads a million lines in {simulate one policy: times a bare line reader} times the time of a bare line reader. `--recommend` takes {simulate --recommend: seconds} s.",
  },
  {
    section: "size",
    area: "[Size](#the-rest)",
    says: "Minified and gzipped, `createLimiter` takes {sluice, createLimiter: bytes} bytes and the Express adapter {sluice/express, rateLimit: bytes}.",
  },
];

/**
 * The rows of the first screen. `find` returns the last whole run of a section, or null for a section that was not
 * measured.
 */
export function summaryRows(find: (section: string) => Results | null): readonly string[][] {
  const rows = ROWS.flatMap(({ section, area, says }) => {
    const results = find(section);
    if (results === null) return [];
    const sentence = says.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => measuredOf(results, name));
    return [[area, sentence, `[${results.day}, ${machineOf(results)}, ${results.load.toFixed(1)}](../bench/results/${section}.md)`]];
  });
  return [["", "in one sentence", "day, machine, load before; all figures"], ...rows];
}

function measuredOf({ section, goals }: Results, name: string): string {
  const found = goals.find(({ goal }) => goal === name);
  if (found === undefined) throw new Error(`Expected a goal "${name}" in ${section}.json, got none. Measure it again, or change bench/summary.ts`);
  const [, control] = /control ([\d.]+): nothing can be told/.exec(found.measured) ?? [];
  const figure = twoDigits(Number(found.measured.replace(/ \(.*/, "")));
  return control === undefined ? figure : `${figure} (control ${twoDigits(Number(control))})`;
}

/** "AMD EPYC" of "2 x AMD EPYC, 24 GB, linux x64". */
const machineOf = ({ machine }: Results): string => machine.replace(/^\d+ x /, "").replace(/,.*/s, "").replaceAll(/\(R\)| Processor/g, "");

/** A number with two digits, because a third one differs from run to run: "0.66" of 0.656, "1.0" of 1, "23,000" of 22,630. */
export function twoDigits(value: number): string {
  return value < 9.95 ? value.toPrecision(2) : Number(value.toPrecision(2)).toLocaleString("en-US");
}
