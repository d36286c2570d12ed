// Small tools for the facts: a server on the loopback, a burst in one packet, and a deadline.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createConnection } from "node:net";

/** The installed version of a peer. */
export function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), "utf8")).version;
}

/** Rejects after `ms`. */
export function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs `use(port)` while `server` listens on a free port of the loopback. */
export async function listening(server, use) {
  if (!server.listening) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  try {
    return await use(server.address().port);
  } finally {
    server.closeAllConnections?.();
    server.close();
  }
}

/** Sends `count` GETs on one connection before the first answer has come (HTTP pipelining). Returns the statuses. */
export function pipelined(port, count, headers = {}) {
  const head = Object.entries({ Host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const text = Array.from({ length: count }, (_, i) =>
    `GET / HTTP/1.1\r\n${head}${i === count - 1 ? "Connection: close\r\n" : ""}\r\n`,
  ).join("");
  return within(5_000, new Promise((resolve, reject) => {
    let answer = "";
    const socket = createConnection(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (chunk) => (answer += chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve([...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)));
  }));
}

/** Sends one request after another. Returns the statuses. */
export async function oneByOne(port, count, headers = {}) {
  const statuses = [];
  for (let i = 0; i < count; i++) statuses.push(String((await get(port, headers)).status));
  return statuses;
}

/** One GET. */
export async function get(port, headers = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers, signal: AbortSignal.timeout(5_000) });
  await response.arrayBuffer();
  return response;
}

/** Counts answers: `["200","200","429"]` becomes `2 x 200, 1 x 429`. */
export function tally(statuses) {
  const counts = new Map();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].sort(([a], [b]) => a.localeCompare(b)).map(([status, count]) => `${count} x ${status}`).join(", ");
}

/** Waits in real time, which the facts about windows need. */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
