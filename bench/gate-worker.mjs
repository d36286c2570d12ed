// `node gate-worker.mjs <framework> <side as JSON>`, forked by gate.ts: one framework with one way to limit, without
// sockets. Real requests and responses of Node pass through the real framework, and the response is written to a stream
// that swallows it. Each message is a number of requests. The answer is the nanoseconds of processor time of one.
import { IncomingMessage, ServerResponse } from "node:http";
import { Duplex } from "node:stream";
import { listenerOf } from "./apps.mjs";

const [framework, json] = process.argv.slice(2);
const side = JSON.parse(json);
const CALLERS = Array.from({ length: 200 }, (_, i) => Buffer.from(`user:${i}:0123456789abcdef`));

/** A connection that swallows what is written to it. */
class Swallow extends Duplex {
  remoteAddress = "127.0.0.1";
  _read() {}
  _write(_chunk, _encoding, done) {
    done();
  }
  setTimeout() {
    return this;
  }
}

const connection = new Swallow();
const listener = await listenerOf(framework, side);
let next = 0;

/** A request as Node's parser makes it: each value is a new string, whose hash is not known. */
function requestOf(bytes) {
  const id = bytes.latin1Slice();
  const request = new IncomingMessage(connection);
  request.method = "GET";
  request.url = "/";
  request.httpVersion = "1.1";
  request.httpVersionMajor = request.httpVersionMinor = 1;
  request.headers = { host: "localhost", "x-id": id, accept: "*/*" };
  request.rawHeaders = ["Host", "localhost", "x-id", id, "Accept", "*/*"];
  request.complete = true;
  request.push(null);
  return request;
}

/** Handles one request until its response has closed, as Node's server does. */
function handle() {
  const request = requestOf(CALLERS[next++ % CALLERS.length]);
  const response = new ServerResponse(request);
  response.assignSocket(connection);
  return new Promise((resolve) => {
    response.on("finish", () => {
      response.detachSocket(connection);
      process.nextTick(() => {
        response.destroyed = true;
        response._closed = true;
        response.emit("close");
        resolve(response);
      });
    });
    listener(request, response);
  });
}

async function run(count) {
  // Other sides ran since the last block, so the processor's caches must be filled again.
  for (let i = 0; i < count / 4; i++) await handle();
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) await handle();
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1_000) / count;
}

if (side.refuse) for (let i = 0; i < CALLERS.length; i++) await handle();
const answer = await handle();
if (answer.statusCode !== (side.refuse ? 429 : 200)) throw new Error(`${framework} ${json}: unexpected status ${answer.statusCode}`);
const text = answer._header;
process.on("disconnect", () => process.exit());
process.on("message", async (count) => process.send(await run(count)));
process.send({
  fields: [...text.matchAll(/^(x-ratelimit[^:]*|ratelimit[^:]*|retry-after):/gim)].map(([, name]) => name.toLowerCase()),
  bytes: text.length + Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0),
});
