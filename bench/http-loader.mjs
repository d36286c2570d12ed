// A load generator in a process of its own: keep-alive connections that each send a request when the answer is there.
// `node http-loader.mjs <port> <connections> <requests> <keys>` prints one line of JSON. Not a client for anything else: it
// knows only answers with a Content-Length.
import { once } from "node:events";
import { connect } from "node:net";

const [port, connections, requests, keys] = process.argv.slice(2).map(Number);
const texts = Array.from({ length: keys }, (_, i) => `GET / HTTP/1.1\r\nHost: localhost\r\nx-id: user:${(i * 7919) % keys}:0123456789abcdef\r\n\r\n`);
const took = new Float64Array(requests);
const statuses = {};
const offset = Math.floor(Math.random() * keys);
let next = 0;

async function caller() {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(socket, "connect");
  await new Promise((resolve, reject) => {
    let i = 0;
    let start = 0;
    let text = "";
    const ask = () => {
      if (next >= requests) return resolve();
      i = next++;
      start = performance.now();
      socket.write(texts[(offset + i) % keys]);
    };
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: (\d+)/i.exec(text)[1]);
      if (text.length < end + 4 + length) return;
      took[i] = performance.now() - start;
      const status = text.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      text = text.slice(end + 4 + length);
      ask();
    });
    socket.on("error", reject);
    ask();
  });
  socket.destroy();
}

const start = performance.now();
await Promise.all(Array.from({ length: connections }, caller));
const ms = performance.now() - start;
took.sort();
console.log(JSON.stringify({ ms, p99Ms: took[Math.floor(requests * 0.99)], statuses }));
