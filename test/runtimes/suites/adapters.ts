// The HTTP contract, over real sockets, for every adapter on node:http.
import express from "express";
import { fastify } from "fastify";
import { adapterSuite, type AdapterSuiteOptions } from "sluice/testing";
import { describe, test } from "vitest";
import { serveExpress } from "../../adapters/rows/express.js";
import { serveFastify } from "../../adapters/rows/fastify.js";
import { lacks, serveHono } from "../../adapters/rows/hono.js";
import { nodeLacks, serveNode } from "../../adapters/rows/node.js";
import { serveWeb, webLacks } from "../../adapters/rows/web.js";

function row(name: string, serve: AdapterSuiteOptions["serve"], without: AdapterSuiteOptions["lacks"] = {}): void {
  describe(name, () => adapterSuite({ test, serve, lacks: without }));
}

row("sluice/node", (setup) => serveNode(setup), nodeLacks);
row("sluice/express", (setup) => serveExpress(express, setup), nodeLacks);
row("sluice/fastify", (setup) => serveFastify(fastify, setup));
row("sluice/hono on node:http", (setup) => serveHono(setup), lacks);
row("sluice/web on node:http", (setup) => serveWeb(setup), webLacks);
