import { MemoryStore } from "sluice";
// Draws refusal.svg from a real server and a real client: `npx tsx docs/images/concepts/draw-refusal.ts`.
// test/pictures.test.ts compares the two.
import { realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rateLimit } from "../../../src/adapters/web.js";
import { createFetch } from "../../../src/client/index.js";
import { ManualClock } from "../../../src/testing/manual-clock.js";
import { arrow, lane, picture, seconds } from "./picture.js";

const POLICY = { name: "api", capacity: 2, refill: { tokens: 1, everyMs: 2_000 } };
/** When the app asks, in milliseconds. */
const ASKED = [0, 200, 400];
const LANES = { app: 110, client: 370, server: 630 };
const TOP = 56;

/** The rows of the picture, top to bottom. */
async function play(): Promise<string[]> {
  const clock = new ManualClock();
  const handler = rateLimit({ policy: POLICY, key: () => ["user", "42"], store: new MemoryStore({ clock: clock.now }) })(() => new Response("[]"));
  const rows: string[] = [];
  let y = 112;
  const at = (): string => `<text class="small" x="${LANES.server + 92}" y="${y + 4}">${seconds(clock.now())}</text>`;
  const add = (height: number, ...parts: string[]): void => void (rows.push(...parts), (y += height));

  const fetch = createFetch({
    async fetch(input, init) {
      add(26, arrow(LANES.client, LANES.server, y, "GET /inbox"), at());
      const response = await handler(new Request(input, init));
      const wait = response.headers.get("retry-after");
      const left = `ratelimit-remaining: ${response.headers.get("ratelimit-remaining")}`;
      add(28, arrow(LANES.server, LANES.client, y, wait === null ? `200, ${left}` : `429, retry-after: ${wait}`, wait === null ? "good" : "bad"));
      return response;
    },
    time: {
      now: clock.now,
      random: () => 0.5,
      sleep(ms) {
        const said = `waits ${seconds(ms)}: Retry-After plus jitter`;
        const bar = `<rect class="wait area" x="${LANES.client - 8}" y="${y - 16}" width="16" height="58"/><rect class="wait" x="${LANES.client - 1.5}" y="${y - 16}" width="3" height="58"/>`;
        add(68, bar, `<text class="small wait" x="${LANES.client + 20}" y="${y + 16}">${said}</text>`);
        clock.advance(ms);
        return Promise.resolve();
      },
    },
  });

  for (const asked of ASKED) {
    clock.set(asked);
    add(14, arrow(LANES.app, LANES.client, y, `fetch("/inbox")`));
    const response = await fetch("http://localhost/inbox");
    add(44, arrow(LANES.client, LANES.app, y - 14, String(response.status), "good"));
  }
  return rows;
}

/** The picture, as SVG text. */
export async function drawRefusal(): Promise<string> {
  const rows = await play();
  const bottom = Math.max(...rows.flatMap((row) => [...row.matchAll(/ y="([\d.]+)"/g)].map(([, y]) => Number(y)))) + 24;
  const lanes = [lane(LANES.app, "your app", TOP, bottom), lane(LANES.client, "sluice/client", TOP, bottom), lane(LANES.server, "server with sluice", TOP, bottom)];
  return picture(
    bottom + 20,
    "The life of a 429: capacity 2, refill 1 token every 2 seconds",
    "An app asks three times within 0.4 seconds. The server answers the first two with 200 and the third with 429 and Retry-After: 2. The client waits 2 seconds and a little jitter, sends the request again, and gets 200. The app sees three times 200.",
    [...lanes, ...rows],
  );
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL("refusal.svg", import.meta.url), await drawRefusal());
}
