/** ws: limits the connections that a user opens, and the messages that a user sends over all of them. `userOf` reads your session. */
import { ServerResponse, type IncomingMessage, type Server } from "node:http";
import { createLimiter, MemoryStore, perMinute, perSecond, whenDone } from "sluice";
import { createGate, retryAfterSeconds, trackWork } from "sluice/http";
import { answerOnNode, nodeReader } from "sluice/node";
import { WebSocketServer, type RawData, type WebSocket } from "ws";

export function serveSockets(server: Server, userOf: (request: IncomingMessage) => string | undefined, onMessage: (socket: WebSocket, data: RawData) => void, store = new MemoryStore()): void {
  const open = { name: "open", capacity: 5, returns: whenDone({ maxWorkMs: 86_400_000 }) }; // at once, each for at most a day
  const policy = { name: "upgrades", limits: [{ name: "rate", capacity: 5, refill: perMinute(5) }, open] };
  const gate = createGate<IncomingMessage>({ policy, store, key: (request) => ["user", userOf(request)], unidentified: "refuse" }, nodeReader);
  const messages = createLimiter({ policy: { name: "messages", capacity: 20, refill: perSecond(10) }, store });
  const sockets = new WebSocketServer({ noServer: true });
  const upgrade = async (request: IncomingMessage, head: Buffer, { socket } = request): Promise<void> => {
    const verdict = await gate(request);
    socket.once("close", () => void trackWork(verdict)({ status: 101, aborted: false })); // the connection is the work
    if (verdict.outcome !== "refuse") return sockets.handleUpgrade(request, socket, head, (open) => sockets.emit("connection", open, request));
    const response = Object.assign(new ServerResponse(request), { shouldKeepAlive: false });
    response.assignSocket(socket);
    answerOnNode(verdict, request, response.once("finish", () => socket.end()));
  };
  // Neither an error of the socket nor a rejection ends the process.
  server.on("upgrade", (request, socket, head) => (socket.on("error", () => socket.destroy()), upgrade(request, head).catch(() => socket.destroy())));
  sockets.on("connection", (socket, request) => socket.on("error", () => {}).on("message", (data) => { // ws closes a socket with an error itself
    const decision = messages.consume(["user", String(userOf(request))]);
    if (decision.allowed) return onMessage(socket, data);
    socket.send(JSON.stringify({ error: "rate_limited", retryAfter: retryAfterSeconds(decision) })); // seconds
  }));
}
