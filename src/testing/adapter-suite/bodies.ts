import { assert, assertEqual } from "../assert.js";
import { checkFields, checkRefusal } from "./response-checks.js";
import type { AdapterCase } from "./server.js";
import { formatRequest, parseResponses, type RawConnection } from "./wire.js";

/** Cases about the body of a refused request. */
export const bodyCases: readonly AdapterCase[] = [
  {
    name: "39 · a refused upload is not read to its end: large or slow, its connection closes after the 429",
    cause: "The framework reads or awaits the rest of a refused body. Call `boundUnreadBody` before you send a refusal.",
    needs: "unreadBodies",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      await server.get("/ok");
      const opened = async (head: string): Promise<RawConnection> => {
        const connection = await server.connect();
        connection.write(head);
        return connection;
      };
      const announced = await opened(head({ "Content-Length": String(UPLOAD) }));
      const chunked = await opened(`${head({ "Transfer-Encoding": "chunked" })}${UPLOAD.toString(16)}\r\n`);
      const slow = await Promise.all(Array.from({ length: 10 }, () => opened(`${head({ "Content-Length": "1000" })}x`)));
      const taken = [announced, chunked].map((connection) => connection.flood(UPLOAD));
      for (const text of await Promise.all([announced, chunked, ...slow].map((connection) => connection.rest()))) {
        const [refused] = parseResponses(text, ["POST"]);
        assert(refused !== undefined, "Expected a complete 429 before the connection closed, got nothing");
        checkRefusal(refused, { capacity: 1, window: 1, retryAfter: 1 });
      }
      for (const bytes of taken) {
        assert(bytes() < UPLOAD / 2, `Expected at most ${UPLOAD / 2} bytes of ${UPLOAD} to be taken, got ${bytes()}`);
      }
      assertEqual(server.entered, ["/ok"], "the requests that reached the body parser");
    },
  },
  {
    name: "39 · a small refused body that arrives after the 429 keeps its connection",
    cause: "The adapter closes the connection of every refused body. Read small bodies to their end.",
    needs: "unreadBodies",
    async run(start) {
      const server = await start({ policy: { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } } });
      await server.get("/ok");
      const connection = await server.connect();
      connection.write(head({ "Content-Length": "100000" }));
      await connection.until("violated-policies");
      connection.write("x".repeat(100_000) + formatRequest("/ok", { headers: { "X-User": "bob", Connection: "close" } }));
      const [refused, next] = parseResponses(await connection.rest(), ["POST", "GET"]);
      assert(
        refused !== undefined && next !== undefined,
        `Expected 2 responses on the connection, got ${refused === undefined ? 0 : 1}`,
      );
      checkRefusal(refused, { capacity: 1, window: 1, retryAfter: 1 });
      checkFields(next, 200, { capacity: 1, window: 1, remaining: 0 });
    },
  },
];

/**
 * In bytes. The buffers of client, system and server together hold less, so only a server that reads the body can take
 * all of it.
 */
const UPLOAD = 100_000_000;

function head(headers: Readonly<Record<string, string>>): string {
  return formatRequest("/json", { method: "POST", headers: { "X-User": "ann", "Content-Type": "application/json", ...headers } });
}
