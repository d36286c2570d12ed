// `npm run field:client --prefix bench`: when clients send a refused request again, found out on their installed versions.
// One server on the loopback answers 429 and then 200; the wait in between passes in virtual time. Prints the tables that
// docs/client.md shows, and exits with 1 when a row there is no longer so. Loopback only; takes a few seconds.
import { makeVirtual, restart, virtualNow } from "./virtual-time.mjs";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { listening, within } from "../drive.mjs";
import { cases } from "./cases.mjs";
import { peers } from "./peers.mjs";

process.env.TZ = "America/New_York";
// TimeoutOverflowWarning and its kind: the findings themselves.
process.removeAllListeners("warning");
makeVirtual(peers.map(({ waits }) => waits));

/** What `ask` leads to on a server that refuses `refusals` times, with `headers` made anew each time. */
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
  const [unit, name] = [[86_400_000, "days"], [3_600_000, "h"], [1_000, "s"]].find(([size]) => ms >= size) ?? [1, "ms"];
  return `${Math.round((ms / unit) * 100) / 100} ${name}`;
}

/** After how long the second request came, and whether that was what the server asked for. */
async function wait({ make }, { headers, rightMs }) {
  const { arrivals: [first, second], failure } = await observe(make(), headers);
  if (second === undefined) return failure?.waitMs === undefined ? "gives up" : `gives up, says ${span(failure.waitMs)}`;
  const waited = second - first;
  const when = waited <= 1 ? "at once" : span(waited);
  if (rightMs === null) return when;
  if (waited < rightMs) return `**${when}**`;
  return waited > rightMs + 5_000 ? `${when}, late` : when;
}

const inASecond = () => ({ "Retry-After": "1" });
const tenTimes = (ask) => (url, method) => Promise.allSettled(Array.from({ length: 10 }, () => ask(url, method)));
const counts = [
  { says: "every answer is 429, `Retry-After: 1`", count: ({ make }) => observe(make(), inASecond, { refusals: Infinity }) },
  { says: "a `POST`, refused once", count: ({ make }) => observe(make(), inASecond, { method: "POST" }) },
  { says: "ten equal `GET`s at once, the first refused", count: ({ make }) => observe(tenTimes(make()), inASecond) },
];

/** A line of a table: one client after another, for they share the virtual clock. */
async function row(says, cell) {
  const cells = [];
  for (const peer of peers) cells.push(await cell(peer));
  return line([says, ...cells]);
}

const line = (cells) => `| ${cells.join(" | ")} |`;
const head = (first) => [line([first, ...peers.map(({ name }) => name)]), line(["---", ...peers.map(() => "---")])];

const lines = head("the server says");
for (const each of cases) lines.push(await row(each.says, (peer) => wait(peer, each)));
lines.push("", ...head("requests in all"));
for (const { says, count } of counts) lines.push(await row(says, async (peer) => String((await count(peer)).arrivals.length)));
console.log(lines.join("\n"));

const page = readFileSync(new URL("../../../docs/client.md", import.meta.url), "utf8").split("\n");
const changed = lines.filter((text) => !page.includes(text));
console.log(changed.length === 0 ? "\nall as in docs/client.md" : `\nnot as in docs/client.md:\n${changed.join("\n")}`);
process.exit(changed.length === 0 ? 0 : 1);
