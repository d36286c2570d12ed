// The tests in workerd, the runtime of Cloudflare Workers: `node test/runtimes/workerd/run.mjs [part of a title …]`.
// In workerd a timer, a promise and a socket belong to the request that made them and end with it, so each test sends a
// request first that is over before fifty others come at once (law L15).
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { tsImport } from "tsx/esm/api";
import { PROJECT, runTests } from "../runtimes.mjs";
import { ask, askAtOnce, cancelled, withWorker, withWorkers } from "./start.mjs";

const { startRedis, hasRedisProgram } = await tsImport("../../helpers/own-redis.ts", import.meta.url);
const { startUpstash } = await tsImport("../../helpers/upstash-rest.ts", import.meta.url);

const WORKER = "test/runtimes/workerd/worker.ts";
const count = (answers, member) => answers.filter((answer) => answer[member]).length;
const range = (length) => Array.from({ length }, (_, i) => i);
/** What is left after each of the calls that take all of `capacity` one by one. */
const eachOnce = (answers, capacity) =>
  assert.deepEqual(answers.filter(({ allowed }) => allowed).map(({ remaining }) => remaining).sort((a, b) => a - b), range(capacity));

/** A server that Workers ask: it never answers /hang, nor /same while `isSilent`, and refuses the first call of /limited. */
async function withOrigin(use) {
  const state = { url: "", hanging: () => {}, limited: () => {}, isSilent: false, asked: 0, inFlight: 0, mostInFlight: 0, sql: null };
  const server = createServer(async (request, response) => {
    if (request.url === "/hang" || (request.url === "/same" && state.isSilent)) return state.hanging();
    if (request.url === "/sql") return answerSql(state.sql, request, response);
    state.asked++;
    if (request.url === "/limited" && state.asked === 1) return response.writeHead(429, { "Retry-After": "2" }).end();
    if (request.url === "/waits/limited") state.limited();
    if (request.url === "/waits/queued") state.hanging();
    if (request.url === "/limited") return answerSlowly(state, response);
    response.end(request.url === "/same" ? `answer ${state.asked}` : "ok");
  });
  server.keepAliveTimeout = 0;
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  state.url = `http://127.0.0.1:${server.address().port}`;
  try {
    return await use(state);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** Answers after a while, so that calls that come at once are in flight at once. */
function answerSlowly(state, response) {
  state.mostInFlight = Math.max(state.mostInFlight, ++state.inFlight);
  setTimeout(() => {
    state.inFlight--;
    response.end("ok");
  }, 300);
}

async function answerSql(database, request, response) {
  let text = "";
  for await (const chunk of request) text += chunk;
  const { text: statement, values } = JSON.parse(text);
  try {
    response.end(JSON.stringify({ rows: (await database.query(statement, values)).rows }));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
}

/** Starts the Worker under test. `bindings` are added to its environment, and `compatibilityFlags` configure it. */
const inWorker = (use, bindings = {}, compatibilityFlags = []) =>
  withOrigin((origin) =>
    withWorker(WORKER, (worker) => use(worker, origin), {
      compatibilityFlags,
      bindings: { ORIGIN: origin.url, POSTGRES_URL: `${origin.url}/sql`, ...bindings },
      durableObjects: { CELLS: "Cell", BUCKETS: "Buckets", LIMITS: { className: "Limits", useSQLite: true } },
    }),
  );

/** Starts several Workers of the same code, in isolates of their own. The first has the Durable Objects. */
function inWorkers(number, use) {
  const names = range(number).map((i) => `worker-${i}`);
  return withWorkers(WORKER, names, use, (name) => ({
    bindings: { ORIGIN: "http://127.0.0.1", POSTGRES_URL: "http://127.0.0.1" },
    durableObjects: {
      CELLS: { className: "Cell", ...(name !== names[0] && { scriptName: names[0] }) },
      BUCKETS: { className: "Buckets", ...(name !== names[0] && { scriptName: names[0] }) },
      LIMITS: { className: "Limits", useSQLite: true, ...(name !== names[0] && { scriptName: names[0] }) },
    },
  }));
}

async function inWorkerWithRedis(use) {
  if (!hasRedisProgram() && process.env["SLUICE_REQUIRE_SERVICES"] !== "1") return "there is no redis-server";
  const redis = await startRedis();
  const upstash = await startUpstash(redis.url);
  try {
    await inWorker((worker) => use(worker, upstash), { UPSTASH_URL: upstash.url, UPSTASH_TOKEN: upstash.token });
  } finally {
    await upstash.stop();
    await redis.stop();
  }
}

/** The store suite in four Workers of their own, one after the other. */
async function passesSuite(query) {
  const parts = 4;
  let all = 0;
  for (const part of range(parts)) {
    await inWorkers(2, async ([, worker]) => {
      const { passed, failures, skipped } = await ask(worker, `/durable/suite?parts=${parts}&part=${part}${query}`);
      assert.deepEqual(failures, []);
      for (const title of skipped) assert.match(title, /\(skipped: /);
      all += passed;
    });
  }
  assert.ok(all > 40, `${all} passed`); // the suite has about 50 cases
}

async function leavesHangingStore(worker) {
  assert.equal((await ask(worker, "/hanging?key=fast")).degraded, false);
  for (const answer of await askAtOnce(worker, "/hanging?key=hangs")) {
    assert.deepEqual([answer.allowed, answer.code], [true, "ERR_STORE_TIMEOUT"]);
    // By the Worker's own clock. The timeout is 100 ms, and a busy machine is later.
    assert.ok(answer.ms >= 99, `${answer.ms} ms`);
  }
  assert.equal((await ask(worker, "/hanging?key=fast")).degraded, false);
}

await runTests("workerd", {
  "L15 · the smallest example: a burst, a 429 whose wait is right, a refill": () =>
    withWorker("examples/minimal/web.ts", async (worker) => {
      const asAnn = { headers: { authorization: "Bearer token-of-ann" } };
      const get = () => worker.fetch("/", asAnn);
      const start = performance.now();
      const first = await get();
      assert.deepEqual([first.status, first.headers.get("ratelimit-remaining")], [200, "9"]);
      const responses = await Promise.all(range(50).map(get));
      const served = responses.filter(({ status }) => status === 200).length;
      const refilled = Math.ceil(((performance.now() - start) / 1_000) * 2);
      assert.ok(served >= 9 && served <= 9 + refilled, `${served} of 50 were served`);
      const refused = responses.find(({ status }) => status === 429);
      const { code, retry_after: seconds } = await refused.json();
      assert.deepEqual([code, refused.headers.get("retry-after")], ["rate_limited", String(seconds)]);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      assert.equal((await get()).status, 200);
      assert.equal((await worker.fetch("/")).status, 401);
    }),

  "L15 · a store that hangs is left after its timeout, in every request": () => inWorker(leavesHangingStore),

  // Nor is there one with a compatibility date before 2022-03-21.
  "L15 · so it is in a Worker without `navigator`": () => inWorker(leavesHangingStore, {}, ["no_global_navigator"]),

  "L15 · and in one with Node's modules": () => inWorker(leavesHangingStore, {}, ["nodejs_compat"]),

  "warnings go to the console, also where Node's `process` swallows them": async () => {
    for (const flags of [[], ["nodejs_compat"]]) {
      await inWorker(async (worker) => {
        for (const i of range(6)) await ask(worker, `/probe?key=fails+${i}`);
        const warning = () => worker.printed().includes("[SLUICE_STORE_UNAVAILABLE]");
        const end = Date.now() + 10_000;
        while (!warning() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
        assert.ok(warning(), `${flags}: ${worker.printed()}`);
      }, {}, flags);
    }
  },

  "L15 · the local share of a store that hangs or fails is exact": () =>
    inWorker(async (worker) => {
      await ask(worker, "/local?key=fast");
      for (const key of ["fails", "hangs"]) {
        const answers = await askAtOnce(worker, `/local?key=${key}`);
        assert.equal(count(answers, "degraded"), 50);
        eachOnce(answers, 10);
      }
    }),

  "L15 · a probe whose request is cancelled does not keep the circuit open": () =>
    inWorker(async (worker, origin) => {
      for (const i of range(5)) assert.equal((await ask(worker, `/probe?key=fails+${i}`)).allowed, false);
      await cancelled(worker, "/probe?key=hangs", origin);
      const end = Date.now() + 30_000;
      while (!(await ask(worker, "/probe?key=works")).allowed) assert.ok(Date.now() < end, "the circuit stays open");
      assert.equal(count(await askAtOnce(worker, "/probe?key=works"), "allowed"), 50);
    }),

  "L15 · all who wait for one key are served, and so are those who come later": () =>
    inWorker(async (worker, origin) => {
      await ask(worker, "/wait?key=a&cost=5");
      assert.equal(count(await askAtOnce(worker, "/wait?key=a"), "allowed"), 50);
      await cancelled(worker, "/wait?key=b&then=hangs", origin);
      assert.equal(count(await askAtOnce(worker, "/wait?key=b"), "allowed"), 50);
    }),

  "L15 · one hot key of a cas store is exact": () =>
    inWorker(async (worker, origin) => {
      await ask(worker, "/cas?key=fast");
      eachOnce(await askAtOnce(worker, "/cas?key=hot"), 50);
      assert.deepEqual(await ask(worker, "/cas?key=hot"), { allowed: false, remaining: 0, reason: "limited" });
      await cancelled(worker, "/cas?key=stuck", origin);
      eachOnce(await askAtOnce(worker, "/cas?key=stuck"), 50);
    }),

  "L15 · Redis over REST is exact": () =>
    inWorkerWithRedis(async (worker, upstash) => {
      await ask(worker, "/redis?key=fast");
      eachOnce((await askAtOnce(worker, "/redis?key=hot")).flat(), 50);
      for (const answer of (await askAtOnce(worker, "/redis?key=hot")).flat()) assert.deepEqual(answer, { allowed: false, remaining: 0, reason: "limited" });
      eachOnce((await askAtOnce(worker, "/redis?key=several&calls=5", 10)).flat(), 50);
      upstash.fault = "silence";
      const before = upstash.requests.length;
      await cancelled(worker, "/redis?key=silent", { whenReached: () => upstash.requests.length > before });
      upstash.fault = "none";
      assert.equal((await askAtOnce(worker, "/redis?key=after")).flat().length, 50);
    }),

  "L15 · a refund goes on after the response": () =>
    inWorkerWithRedis(async (worker) => {
      await ask(worker, "/refunded?key=fast");
      await askAtOnce(worker, "/refunded?key=ann");
      const end = Date.now() + 30_000;
      for (let left = 0; left < 50; ({ left } = await ask(worker, "/refunded?key=ann&left"))) assert.ok(Date.now() < end, `${left} of 50 came back`);
    }),

  "L15 · Postgres over HTTP is exact": () =>
    inWorker(async (worker, origin) => {
      const { PostgresStore } = createRequire(join(PROJECT, "none.cjs"))("sluice/postgres");
      origin.sql = await PGlite.create();
      await new PostgresStore(origin.sql).migrate();
      await ask(worker, "/postgres?key=fast");
      eachOnce(await askAtOnce(worker, "/postgres?key=hot"), 50);
      assert.equal((await ask(worker, "/postgres?key=hot")).allowed, false);
      await origin.sql.close();
    }),

  "a policy crosses to a Durable Object, and decides the same there": () =>
    inWorker(async (worker) => {
      await ask(worker, "/buckets?key=fast");
      eachOnce(await askAtOnce(worker, "/buckets?key=one"), 50);
      assert.deepEqual(await ask(worker, "/buckets?key=one"), { allowed: false, remaining: 0, limit: "object", limits: null });
      eachOnce(await askAtOnce(worker, "/buckets?key=several"), 50);
      assert.deepEqual(await ask(worker, "/buckets?key=several"), { allowed: false, remaining: 0, limit: "burst", limits: ["burst", "2"] });
    }),

  "the store suite over an object for each bucket": () => passesSuite(""),

  "the store suite over one object for all buckets": () => passesSuite("&one=yes"),

  "L15 · Durable Objects are exact, one hot key and many keys at once": () =>
    inWorker(async (worker) => {
      await ask(worker, "/durable?key=fast");
      eachOnce(await askAtOnce(worker, "/durable?key=hot", 80), 50);
      assert.deepEqual(await ask(worker, "/durable?key=hot"), { allowed: false, remaining: 0, reason: "limited" });
      for (const answers of await Promise.all(range(5).map((i) => askAtOnce(worker, `/durable?key=user-${i}`, 60)))) eachOnce(answers, 50);
      for (const answers of await Promise.all(range(5).map((i) => askAtOnce(worker, `/durable?object=one&key=user-${i}`, 60)))) eachOnce(answers, 50);
    }),

  "charges of one object are taken together or not at all, and other stores take none together": () =>
    inWorker(async (worker) => {
      assert.deepEqual(await ask(worker, "/durable/together?key=ann"), { absent: true });
      const answers = await Promise.all(range(3).map((i) => askAtOnce(worker, `/durable/together?object=acme&key=user-${i}`, 40)));
      assert.equal(count(answers.flat(), "allowed"), 60);
      // What the tenant's limit refused was not taken from a user either.
      const users = await Promise.all(range(3).map((i) => ask(worker, `/durable?object=acme&key=user-${i}`)));
      assert.equal(users.reduce((sum, { remaining }) => sum + (50 - remaining - 1), 0), 60);
    }),

  "several Workers share the buckets of one": async () => {
    await inWorkers(3, async (workers) => {
      for (const worker of workers) await ask(worker, "/durable?key=fast");
      for (const path of ["/durable?key=hot", "/durable?object=one&key=hot"]) {
        const answers = await Promise.all(workers.map((worker) => askAtOnce(worker, path, 40)));
        eachOnce(answers.flat(), 50);
      }
    });
  },

  "L21 · a stream keeps its place longer than staleAfterMs, and gives it back at its end": () =>
    inWorker(async (worker) => {
      const free = async (key) => (await ask(worker, `/held?key=${key}`)).allowed;
      // By hand nothing is renewed: the place is free after a second and a sixteenth.
      assert.equal(await free("hand"), true);
      const ends = await worker.fetch("/streamed?key=ends&ms=3000");
      assert.equal(ends.status, 200);
      await new Promise((resolve) => setTimeout(resolve, 1_800));
      assert.deepEqual([await free("hand"), await free("ends")], [true, false]);
      assert.ok((await ends.text()).length > 10);
      const end = Date.now() + 10_000;
      while (!(await free("ends"))) assert.ok(Date.now() < end, "the place does not come back");
    }),

  "an object stores a row for each bucket, and its alarm deletes what is full, and at last everything": () =>
    inWorker(async (worker) => {
      const stored = (query = "") => ask(worker, `/durable/stored?object=one${query}`);
      const nothing = { rowsWritten: 0, exists: false, rows: 0, bytes: 0, alarmAt: null };
      assert.deepEqual(await stored(), nothing);
      await ask(worker, "/durable?object=one&key=ann");
      const first = await stored();
      await askAtOnce(worker, "/durable?object=one&key=ann", 79);
      await ask(worker, "/durable?object=one&key=bob");
      const { rowsWritten, rows, alarmAt } = await stored();
      // 49 more granted requests of one caller and one of another: the 30 that were refused wrote nothing.
      assert.deepEqual([rowsWritten - first.rowsWritten, rows, alarmAt], [50, 2, first.alarmAt]);
      assert.ok(alarmAt > Date.now() + 60_000 - 10_000, "an alarm a minute or more from now");
      const early = await stored("&after=3600000");
      assert.deepEqual([early.rows, early.alarmAt > Date.now()], [1, true]);
      assert.deepEqual(await ask(worker, "/durable?object=one&key=ann"), { allowed: false, remaining: 0, reason: "limited" });
      assert.deepEqual(await stored("&after=90000000"), { ...nothing, rowsWritten });
      eachOnce(await askAtOnce(worker, "/durable?object=one&key=ann"), 50);
    }),

  "the alarm leaves an object alone that stores something else": () =>
    inWorker(async (worker) => {
      for (const what of ["table", "value"]) {
        await ask(worker, `/durable?object=${what}&key=ann`);
        const { rows, exists } = await ask(worker, `/durable/stored?object=${what}&keep=${what}&after=90000000`);
        assert.deepEqual([rows, exists], [0, true]);
        eachOnce(await askAtOnce(worker, `/durable?object=${what}&key=ann`), 50);
      }
    }),

  "key and cost read the Worker's bindings": () =>
    inWorker(
      async (worker) => {
        const response = await worker.fetch("/tiers");
        assert.equal(response.headers.get("ratelimit-remaining"), "46");
      },
      { FREE: "free" },
    ),

  "L15 · equal calls of many requests of one client get a response each, also after one was cancelled": () =>
    inWorker(async (worker, origin) => {
      const checkFifty = async () => {
        const answers = await askAtOnce(worker, "/client");
        assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
        assert.equal(new Set(answers.map(({ text }) => text)).size, 50);
      };
      assert.deepEqual(await ask(worker, "/client"), { status: 200, text: "answer 1" });
      await checkFifty();
      origin.isSilent = true;
      await cancelled(worker, "/client", origin);
      origin.isSilent = false;
      await checkFifty();
      assert.equal(origin.asked, 101);
    }),

  "L15 · calls that were held back by a 429 are all sent, and not all at once": () =>
    inWorker(async (worker, origin) => {
      const waits = new Promise((resolve) => (origin.limited = resolve));
      const first = ask(worker, "/traffic");
      await waits;
      await cancelled(worker, "/traffic", origin);
      for (const answer of await askAtOnce(worker, "/traffic")) assert.deepEqual(answer, { status: 200, text: "ok" });
      assert.equal((await first).status, 200);
      // One, and after every two answers three more: the calls in flight are at most half of those that were answered, and
      // one for each second without an answer.
      assert.ok(origin.mostInFlight <= 35, `${origin.mostInFlight} in flight`);
    }),
}, 900_000);
