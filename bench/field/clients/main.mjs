// `npm run field:client --prefix bench`: when clients send a refused request again, found out on their installed versions.
// One server on the loopback answers 429 and then 200; the wait in between passes in virtual time. Prints the tables that
// docs/client.md shows, and exits with 1 when a row there is no longer so. Loopback only; takes a few seconds.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listening, within } from "../drive.mjs";
import { cases } from "./cases.mjs";
import { peers } from "./peers.mjs";
import { install, restart, virtualNow } from "./virtual-time.mjs";

process.env.TZ = "America/New_York";
// TimeoutOverflowWarning and its kind: the findings themselves.
process.removeAllListeners("warning");
install(peers.map(({ waits }) => waits));

/** What one ask leads to on a server that refuses `refusals` times, with `headers` made anew each time. */
async function observe(ask, headers, { method = "GET", refusals = 1 } = {}) {
  restart();
  const arrivals = [];
  const server = createServer((request, response) => {
    request.resume();
    const refused = arrivals.push(virtualNow()) <= refusals;
    response.sendDate = false;
    response.writeHead(refused ? 429 : 200, { "Content-Length": 2, Date: new Date().toUTCString(), ...(refused ? headers() : {}) });
    response.end("{}");
  });
  const failure = await listening(server, (port) => within(10_000, ask(`http://127.0.0.1:${port}/inbox`, method).then(() => null, (error) => error)));
  return { arrivals, failure };
}

function span(ms) {
  if (ms > 1e12) return "for ever";
  const units = [[86_400_000, "days"], [3_600_000, "h"], [1_000, "s"]];
  const [unit, name] = units.find(([size]) => ms >= size) ?? [1, "ms"];
  return `${Math.round((ms / unit) * 100) / 100} ${name}`;
}

/** One cell: after how long the second request came, and whether that was what the server asked for. */
async function wait({ ask }, { headers, rightMs }) {
  const { arrivals: [first, second], failure } = await observe(ask, headers);
  if (second === undefined) return Number.isFinite(failure?.waitMs) ? `gives up, says ${span(failure.waitMs)}` : "gives up";
  const waited = second - first;
  const when = waited <= 1 ? "at once" : span(waited);
  if (rightMs === null) return when;
  if (waited < rightMs) return `**${when}**, early`;
  return waited > rightMs + 5_000 ? `${when}, late` : when;
}

/** The other questions: each gives a cell. */
const questions = [
  { says: "requests in all when every answer is 429 with `Retry-After: 1`", cell: async ({ ask }) => String((await observe(ask, () => ({ "Retry-After": "1" }), { refusals: Infinity })).arrivals.length) },
  { says: "requests of a `POST` that gets 429 with `Retry-After: 1`", cell: async ({ ask }) => String((await observe(ask, () => ({ "Retry-After": "1" }), { method: "POST" })).arrivals.length) },
  {
    says: "requests of ten equal `GET`s at once, the first answer being 429",
    cell: async ({ ask }) => {
      const all = (url, method) => Promise.allSettled(Array.from({ length: 10 }, () => ask(url, method)));
      return String((await observe(all, () => ({ "Retry-After": "1" }))).arrivals.length);
    },
  },
];

const rows = [];
for (const each of cases) rows.push([each.says, ...(await inTurn((peer) => wait(peer, each)))]);
const more = [];
for (const { says, cell } of questions) more.push([says, ...(await inTurn(cell))]);

/** One client after another, for they share the virtual clock. */
async function inTurn(cell) {
  const cells = [];
  for (const peer of peers) cells.push(await cell(peer));
  return cells;
}

const line = (cells) => `| ${cells.join(" | ")} |`;
const head = (first) => [line([first, ...peers.map(({ name }) => name)]), line(["---", ...peers.map(() => "---")])];
const lines = [...head("the server says"), ...rows.map(line), "", ...head("what is counted"), ...more.map(line)];
console.log(lines.join("\n"));

const page = [];
const changed = lines.filter((text) => !page.includes(text));
console.log(changed.length === 0 ? "\nall as in docs/client.md" : `\n${changed.length} not as in docs/client.md:\n${changed.join("\n")}`);
process.exit(changed.length === 0 ? 0 : 1);
