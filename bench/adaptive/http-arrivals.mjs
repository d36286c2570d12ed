// Arrivals at random, from a separate process: each is sent when it arrives, also when others have no answer yet, as
// callers do who know nothing of each other. At most 1,000 are under way; further arrivals are counted as lost. It takes
// { port, perSecond, warmMs, ms, seed } as a message, and sends the answers of those who arrived after `warmMs`.
import { Agent, get } from "node:http";

const MOST = 1_000;
const PATIENCE_MS = 5_000;

function drawsOf(seed) {
  let state = seed;
  return () => {
    state = (state * 48_271) % 0x7fff_ffff; // Lehmer's generator
    return state / 0x7fff_ffff;
  };
}

async function run({ port, perSecond, warmMs, ms, seed }) {
  const agent = new Agent({ keepAlive: true, maxSockets: MOST, maxFreeSockets: MOST });
  const draw = drawsOf(seed);
  const seen = { times: [], refused: 0, lost: 0, late: 0, offered: 0, lagMs: 0 };
  const start = performance.now();
  let [open, next] = [0, 0];
  const send = (counted, from) => {
    open += 1;
    let over = false;
    const end = (how) => {
      if (over) return;
      over = true;
      open -= 1;
      if (!counted) return;
      if (how === 200) seen.times.push(performance.now() - from);
      else if (how === 503 || how === 429) seen.refused += 1;
      else seen.late += 1;
    };
    const request = get({ port, host: "127.0.0.1", agent, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      response.on("end", () => end(response.statusCode));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => end(0));
  };
  await new Promise((resolve) => {
    const turn = () => {
      const now = performance.now() - start;
      while (next <= now) {
        const counted = next >= warmMs;
        if (counted) {
          seen.offered += 1;
          // A request that this process sends late has waited here, not in the service.
          seen.lagMs = Math.max(seen.lagMs, now - next);
        }
        if (open < MOST) send(counted, performance.now());
        else if (counted) seen.lost += 1;
        next += (-Math.log(1 - draw()) * 1_000) / perSecond;
      }
      if (now >= warmMs + ms) resolve();
      else setTimeout(turn, 1);
    };
    turn();
  });
  const patience = performance.now() + PATIENCE_MS;
  while (open > 0 && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 20));
  agent.destroy();
  return seen;
}

process.on("disconnect", () => process.exit());
process.on("message", async (what) => process.send(await run(what)));
