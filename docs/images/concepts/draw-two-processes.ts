// Draws two-processes.svg from two real limiters over one store: `npx tsx docs/images/concepts/draw-two-processes.ts`.
// test/pictures.test.ts compares the two.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createLimiter, MemoryStore, perSecond } from "../../../src/index.js";
import { ManualClock } from "../../../src/testing/manual-clock.js";
import { arrow, lane, picture, seconds } from "./picture.js";

const POLICY = { name: "api", capacity: 3, refill: perSecond(1) };
/** Requests of one user: the instant in milliseconds, and the process that the balancer chose. */
const REQUESTS = [[0, "A"], [100, "B"], [200, "B"], [300, "A"], [1_000, "A"], [1_200, "B"]] as const;
const LANES = { A: 150, store: 380, B: 610 } as const;
const TOP = 56;
const FIRST = 124;
const ROW = 58;

/** The picture, as SVG text. A memory store on a manual clock stands for the shared one: all stores share one arithmetic. */
export function drawTwoProcesses(): string {
  const clock = new ManualClock();
  const store = new MemoryStore({ clock: clock.now });
  const [A, B] = [createLimiter({ policy: POLICY, store }), createLimiter({ policy: POLICY, store })];
  const rows = REQUESTS.map(([at, name], i) => {
    clock.set(at);
    const { allowed, remaining, retryAfterMs } = { A, B }[name].consume(["user", "42"]);
    const y = FIRST + i * ROW;
    const [process, side] = [LANES[name], name === "A" ? -72 : 72];
    const edge = name === "A" ? LANES.store - 34 : LANES.store + 34;
    const tokens = Array.from({ length: POLICY.capacity }, (_, n) => `<circle class="${n < remaining ? "token" : "spent"}" cx="${LANES.store - 18 + n * 18}" cy="${y + 11}" r="6"/>`);
    return [
      arrow(process, edge, y, "consume: 1 token"),
      arrow(edge, process, y + 22, allowed ? `allowed, ${remaining} left` : `refused, wait ${retryAfterMs} ms`, allowed ? "good" : "bad"),
      `<rect class="page" x="${LANES.store - 32}" y="${y - 4}" width="64" height="30"/>`, ...tokens,
      `<text class="small" x="${process + side}" y="${y + 15}" text-anchor="middle">at ${seconds(at)}</text>`,
    ].join("\n");
  });
  const bottom = FIRST + (REQUESTS.length - 1) * ROW + 44;
  return picture(
    bottom + 36,
    "Two processes, one store, one bucket: capacity 3, refill 1 per second",
    "Requests of one user reach process A and process B in turn. Both ask the same store, which holds one bucket of three tokens. The fourth request is refused, whichever process it reaches, and told to wait 700 ms. At that instant a request is allowed.",
    [lane(LANES.A, "process A", TOP, bottom), lane(LANES.store, "store: user 42", TOP, bottom), lane(LANES.B, "process B", TOP, bottom), ...rows,
      `<circle class="token" cx="30" cy="${bottom + 14}" r="6"/><text x="44" y="${bottom + 18}">a token that is left</text><circle class="spent" cx="200" cy="${bottom + 14}" r="6"/><text x="214" y="${bottom + 18}">a token that is spent</text>`],
  );
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("two-processes.svg", import.meta.url), drawTwoProcesses());
}
