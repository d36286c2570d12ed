// The Content-Length of an own problem document counts bytes, not characters. The body is read to the end of the connection,
// so a wrong length cannot hide what follows it.
import express from "express";
import { fastify } from "fastify";
import { createServer, type RequestListener, type Server } from "node:http";
import type { Refusal } from "sluice/http";
import * as forExpress from "sluice/express";
import * as forFastify from "sluice/fastify";
import * as forNode from "sluice/node";
import { expect, onTestFinished, test } from "vitest";
import { send } from "../http/wire.js";
import { listen } from "./rows/listen.js";
import { oneToken } from "./setup.js";

const DETAIL = "Bitte später noch einmal: 待って 🙏";
const problem = ({ problem: standard }: Refusal) => ({ ...standard, detail: DETAIL });
const options = () => ({ ...oneToken(), key: () => "ann" });
const portOf = async (server: Server): Promise<number> => {
  const running = await listen(server);
  onTestFinished(() => void running.close());
  return running.port;
};

const servers: Record<string, () => Promise<number>> = {
  Node: () => portOf(createServer(forNode.rateLimit({ ...options(), respond: problem })((_request, response) => response.end("ok")) as RequestListener)),
  Express: () => portOf(createServer(express().use(forExpress.rateLimit({ ...options(), respond: problem })).get("/", (_request, response) => void response.send("ok")))),
  async Fastify() {
    const app = fastify();
    await app.register(forFastify.rateLimit, { ...options(), respond: problem });
    app.get("/", async () => "ok");
    await app.ready();
    return portOf(createServer((request, response) => app.routing(request, response)));
  },
};

test.each(Object.keys(servers))("9 · %s: the body is as long as its Content-Length says, with letters beyond ASCII", async (name) => {
  const port = await (servers[name] as () => Promise<number>)();
  await send(port);
  const { status, field, body } = await send(port);
  const bytes = Buffer.from(body, "latin1");
  expect([status, field("Content-Length"), (JSON.parse(bytes.toString("utf8")) as { detail: string }).detail]).toEqual([429, String(bytes.length), DETAIL]);
  const head = await send(port, "HEAD");
  expect([head.status, head.field("Content-Length") ?? String(bytes.length), head.body]).toEqual([429, String(bytes.length), ""]);
});
