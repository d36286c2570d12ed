// Answers MongoDB's driver on a socket, as a server with one node does: finds, inserts and updates by `_id`. It is no MongoDB.
import { createServer, type Socket } from "node:net";
import { BSON, type Document } from "mongodb";
import { listen } from "../../../../test/adapters/rows/listen.js";

const OP_MSG = 2_013;
const HEAD = 16;
const same = (a: unknown, b: unknown): boolean => String(a) === String(b); // strings and ObjectIds

/** A server, its documents, and how many of them were written. */
export async function startMongoStandIn() {
  const kept = new Map<string, Document>();
  const counted = { writes: 0 };
  const commands: Readonly<Record<string, (asked: Document) => Document>> = {
    hello: () => ({ isWritablePrimary: true, maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000, minWireVersion: 8, maxWireVersion: 25, readOnly: false }),
    ping: () => ({}),
    endSessions: () => ({}),
    find({ find, filter, $db }) {
      const found = kept.get(filter._id as string);
      return { cursor: { id: BSON.Long.ZERO, ns: `${$db}.${find}`, firstBatch: found === undefined ? [] : [found] } };
    },
    insert({ documents: [document] }) {
      if (kept.has(document._id)) return { n: 0, writeErrors: [{ index: 0, code: 11_000, errmsg: "E11000 duplicate key error" }] };
      kept.set(document._id, document);
      counted.writes++;
      return { n: 1 };
    },
    update({ updates: [{ q, u }] }) {
      const found = kept.get(q._id as string);
      if (found === undefined || !Object.entries(q as object).every(([name, value]) => same(found[name], value))) return { n: 0, nModified: 0 };
      kept.set(q._id, { ...found, ...u.$set });
      counted.writes++;
      return { n: 1, nModified: 1 };
    },
  };

  function answer(socket: Socket, message: Buffer): void {
    const asked = bodyOf(message);
    const run = commands[Object.keys(asked)[0] as string];
    const body = BSON.serialize(run === undefined ? { ok: 0, code: 59, errmsg: `no such command: ${Object.keys(asked)[0]}` } : { ok: 1, ...run(asked) });
    const head = Buffer.alloc(HEAD + 5); // the flags and the kind of the section are 0
    [HEAD + 5 + body.length, 0, message.readInt32LE(4), OP_MSG].forEach((value, i) => head.writeInt32LE(value, i * 4));
    socket.write(Buffer.concat([head, body]));
  }

  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let unread = Buffer.alloc(0);
    socket.on("error", () => socket.destroy()).on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      while (unread.length >= HEAD && unread.length >= unread.readInt32LE(0)) {
        const length = unread.readInt32LE(0);
        answer(socket, unread.subarray(0, length));
        unread = unread.subarray(length);
      }
    });
  });
  const { port, close } = await listen(Object.assign(server, { closeAllConnections: () => sockets.forEach((socket) => socket.destroy()) }) as never);
  return { url: `mongodb://127.0.0.1:${port}/?directConnection=true`, kept, counted, close };
}

/** The command of an OP_MSG: its body, and its sequences of documents under their names. */
function bodyOf(message: Buffer): Document {
  if (message.readInt32LE(12) !== OP_MSG) throw new Error("Expected OP_MSG. Set serverApi in the client");
  let body: Document = {};
  for (let at = HEAD + 4; at < message.length; ) {
    const length = message.readInt32LE(at + 1);
    const section = message.subarray(at + 1, at + 1 + length);
    if (message[at] === 0) body = { ...BSON.deserialize(section), ...body };
    else {
      const end = section.indexOf(0, 4);
      body[section.toString("utf8", 4, end)] = [BSON.deserialize(section.subarray(end + 1))]; // the driver sends one document
    }
    at += 1 + length;
  }
  return body;
}
