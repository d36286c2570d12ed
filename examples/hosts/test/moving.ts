// The apps of examples/hosts/moving on a server each, and a client with several addresses. Time stands still unless a test
// moves it.
import "reflect-metadata";
import { createServer, request, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import type { INestApplication } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Express } from "express";
import type { FastifyInstance } from "fastify";
import type { Hono } from "hono";
import { onTestFinished, vi } from "vitest";
import { listen } from "../../../test/adapters/rows/listen.js";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A running app. */
export interface RunningApp {
  /** Sends one GET, from another address of this machine if asked. An abort breaks its connection. */
  get(path?: string, from?: string, signal?: AbortSignal, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Sends `count` GETs one after the other. Returns how many were served, and the last answer. */
  send(count: number, path?: string): Promise<{ served: number; last: Answer }>;
  /** How many requests have arrived, and how many connections have closed. */
  readonly seen: { requests: number; closes: number };
}

/** When time stands still. */
export const NOON = Date.UTC(2026, 10, 22, 12);

/** What runs an app of each framework. */
const listenerOf = {
  express: (app: Express): RequestListener => app,
  fastify: async (app: Promise<FastifyInstance>): Promise<RequestListener> => {
    const ready = await app;
    await ready.ready();
    return ready.routing;
  },
  hono: (app: Hono): RequestListener => getRequestListener(app.fetch) as RequestListener,
  nest: async (AppModule: new () => object, prepare: (app: INestApplication) => unknown): Promise<RequestListener> => {
    const app = await NestFactory.create(AppModule, { logger: false });
    prepare(app);
    onTestFinished(() => app.close());
    await app.init();
    return app.getHttpAdapter().getInstance() as RequestListener;
  },
};

export type Framework = keyof typeof listenerOf;

/** Starts an app, which ends with the test. `prepare` gets an application of Nest first. */
export async function start(framework: Framework, app: unknown, prepare: (app: INestApplication) => unknown = () => undefined): Promise<RunningApp> {
  const listener = await listenerOf[framework](app as never, prepare);
  const seen = { requests: 0, closes: 0 };
  const server = createServer(listener).on("request", () => (seen.requests += 1));
  server.on("connection", (socket) => socket.on("close", () => (seen.closes += 1)));
  const { port, close } = await listen(server);
  onTestFinished(async () => void (await close()));

  const get = (path = "/", from = "127.0.0.1", signal?: AbortSignal, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path, localAddress: from, signal, headers }, (response) => {
        const { statusCode = 0, headers } = response;
        text(response).then((body) => resolve({ status: statusCode, headers, body }), reject);
      });
      sent.once("error", reject).end();
    });
  const send = async (count: number, path?: string): Promise<{ served: number; last: Answer }> => {
    const answers: Answer[] = [];
    while (answers.length < count) answers.push(await get(path));
    return { served: answers.filter(({ status }) => status === 200).length, last: answers.at(-1) as Answer };
  };
  return { get, send, seen };
}

/** Stops the clocks of this process, and the timers that an app sets. */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"], now: NOON });
  onTestFinished(() => void vi.useRealTimers());
}

/** The header fields that speak of limits, sorted by name. */
export function limitFields(headers: IncomingHttpHeaders): Record<string, unknown> {
  const names = Object.keys(headers).filter((name) => /rate-?limit|retry-after/.test(name)).sort((a, b) => (a < b ? -1 : 1));
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}
