// A load generator in a separate process. Each keep-alive connection sends the next request when the answer is there.
// `node http-loader.mjs <port> <connections> <requests> <keys>` prints one line of JSON. When forked, it takes the same
// four numbers as messages, one after another, and stays warm. It reads only answers with a Content-Length.
import { once } from "node:events";
import { connect } from "node:net";

const texts = new Map();

function requestsOf(keys) {
  if (!texts.has(keys)) {
    texts.set(keys, Array.from({ length: keys }, (_, i) => `GET / HTTP/1.1\r\nHost: localhost\r\nx-id: user:${(i * 7919) % keys}:0123456789abcdef\r\n\r\n`));
  }
  return texts.get(keys);
}

async function load([port, connections, requests, keys]) {
  const all = requestsOf(keys);
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
        socket.write(all[(offset + i) % keys]);
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
      socket.on("close", () => reject(new Error("The server closed the connection")));
      ask();
    });
    socket.destroy();
  }

  const start = performance.now();
  await Promise.all(Array.from({ length: connections }, caller));
  const ms = performance.now() - start;
  took.sort();
  return { ms, p99Ms: took[Math.floor(requests * 0.99)], statuses };
}

if (process.send) {
  process.on("disconnect", () => process.exit());
  process.on("message", async (numbers) => process.send(await load(numbers)));
} else {
  console.log(JSON.stringify(await load(process.argv.slice(2).map(Number))));
}
