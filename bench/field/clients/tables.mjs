// Makes the tables of docs/guides/client-comparison.md from the behavior of the clients. Clients share the virtual
// time, so they run one after another.
import { cases } from "./cases.mjs";
import { dropping, onSluice, refusing } from "./observe.mjs";
import { inOtherCases, nonReaders, onSluiceServers, peers, readers } from "./peers.mjs";

const TOLD_MS = 3_000;
const inThreeSeconds = () => ({ "Retry-After": "3" });
const nothing = () => ({});

function span(ms) {
  if (ms > 1e12) return "forever";
  const [unit, name] = [[86_400_000, "days"], [3_600_000, "h"], [1_000, "s"]].find(([size]) => ms >= size) ?? [1, "ms"];
  return `${Math.round((ms / unit) * 100) / 100} ${name}`;
}

/**
 * The time from the first request to the second. Bold: too early. `rightMs` is null where no wait is right or wrong.
 */
function wait({ arrivals: [first, second], failures: [failure] }, rightMs) {
  if (second === undefined) return failure?.waitMs > 0 ? `no retry, says ${span(failure.waitMs)}` : "no retry";
  const waited = second - first;
  const when = waited <= 1 ? "at once" : span(waited);
  if (rightMs !== null && waited < rightMs) return `**${when}**`;
  return rightMs !== null && waited > rightMs + 5_000 ? `${when}, late` : when;
}

const valueOf = (fields) => fields?.get?.("retry-after") ?? fields?.["retry-after"];
/** The place of the wait in a client's error. */
const places = {
  "`error.waitMs`": (error) => error.waitMs,
  "`error.headers`": (error) => valueOf(error.headers),
  "`error.response.headers`": (error) => valueOf(error.response?.headers),
  "`error.$response.headers`": (error) => valueOf(error.$response?.headers),
};

function lastRefusal({ answer, failures: [failure] }) {
  if (failure === undefined) return [`returns the ${answer.status}`, valueOf(answer.headers) ? "`response.headers`" : "no"];
  const place = Object.keys(places).find((each) => places[each](failure) !== undefined);
  return [`throws \`${failure.constructor.name}\``, place ?? "no"];
}

async function fourQuestions(peer) {
  const { statuses, ...first } = await onSluice(peer);
  const admitted = statuses[1] === 200 ? "yes" : statuses[1] === 429 ? "**no**" : "no retry";
  const wasted = statuses.slice(1).filter((status) => status === 429).length;
  const refused = await onSluice(peer, { rival: true });
  return [peer.name, wait(first, TOLD_MS), admitted, wasted, refused.arrivals.length, ...lastRefusal(refused)];
}

async function otherCases(peer) {
  const { arrivals, failures } = await refusing(peer, inThreeSeconds, { times: 10 });
  return [
    peer.name,
    failures.length === 0 ? arrivals.length : `${arrivals.length}, ${failures.length} call fails`,
    wait(await refusing(peer, inThreeSeconds, { method: "POST" }), TOLD_MS),
    wait(await refusing(peer, inThreeSeconds, { status: 503 }), TOLD_MS),
    wait(await refusing(peer, nothing, { status: 503 }), null),
    wait(await dropping(peer), null),
  ];
}

const line = (cells) => `| ${cells.join(" | ")} |`;

/** The lines of a table. */
function table(head, rows) {
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}

/** Maps the items one after another. */
async function inTurn(values, map) {
  const results = [];
  for (const value of values) results.push(await map(value));
  return results;
}

async function forms() {
  const waits = await inTurn([...readers, ...nonReaders], (peer) =>
    inTurn(cases, async ({ headers, rightMs }) => wait(await refusing(peer, headers), rightMs)));
  const rows = cases.map(({ says }, i) => [says, ...readers.map((_, at) => waits[at][i])]);
  const every = nonReaders.map(({ name }, at) => [name, [...new Set(waits[readers.length + at].map((cell) => cell.replaceAll("*", "")))].join(" or ")]);
  return [table(["the server says", ...readers.map(({ name }) => name)], rows), table(["client", "in each row above"], every)];
}

export const tables = async () => [
  table(["client", "versions", "set up with"], peers.map(({ name, versions, setUp }) => [name, versions, setUp])),
  table(["client", "waits", "first retry admitted", "wasted requests", "refused for good: requests", "then", "wait is in"], await inTurn(onSluiceServers, fourQuestions)),
  table(["client", "ten `GET`s: requests", "`POST`, 3 s", "503, 3 s", "503", "dropped connection"], await inTurn(inOtherCases, otherCases)),
  ...await forms(),
];
