import { readFileSync } from "node:fs";
import express from "express";
import express4 from "express4";
import { fastify } from "fastify";
import { fastify as fastify4 } from "fastify4";
import { createAdaptorServer as createAdaptorServer1 } from "hono-node-server-1";
import type { AdapterSuiteOptions } from "sluice/testing";
import { serveExpress } from "./express.js";
import { serveFastify } from "./fastify.js";
import { lacks, serveHono } from "./hono.js";
import { nestLacks, nestPackages, onNest10, serveNestOnExpress, serveNestOnFastify } from "./nest.js";
import { nodeLacks, serveNode } from "./node.js";
import { serveWeb, webLacks } from "./web.js";

/** One framework at one major version, under the adapter suite. */
export interface Row extends Pick<AdapterSuiteOptions, "serve" | "lacks"> {
  readonly name: string;
  /** What was loaded, with its exact version. */
  readonly loaded: string;
}

const afterBody = "preHandler runs after the body is parsed";

/** Every row that the suite must run; the frameworks' older versions share the types of the newer. */
export const rows: readonly Row[] = [
  { name: "Node", loaded: `node ${process.versions.node}`, serve: (setup) => serveNode(setup), lacks: nodeLacks },
  { name: "Express 4", loaded: loaded("express4"), serve: (setup) => serveExpress(express4 as unknown as typeof express, setup), lacks: nodeLacks },
  { name: "Express 5", loaded: loaded("express"), serve: (setup) => serveExpress(express, setup), lacks: nodeLacks },
  { name: "Fastify 4", loaded: loaded("fastify4"), serve: (setup) => serveFastify(fastify4 as unknown as typeof fastify, setup) },
  { name: "Fastify 5", loaded: loaded("fastify"), serve: (setup) => serveFastify(fastify, setup) },
  { name: "Fastify in preHandler", loaded: loaded("fastify"), serve: (setup) => serveFastify(fastify, setup, "preHandler"), lacks: { beforeBodies: afterBody, unreadBodies: afterBody } },
  { name: "Hono", loaded: `${loaded("hono")} on ${loaded("@hono/node-server")}`, serve: (setup) => serveHono(setup), lacks },
  { name: "Hono on node-server 1", loaded: `${loaded("hono")} on ${loaded("hono-node-server-1")}`, serve: (setup) => serveHono(setup, undefined, createAdaptorServer1 as never), lacks },
  { name: "NestJS on Express", loaded: `${loaded("@nestjs/core")} on ${loaded("@nestjs/platform-express")}`, serve: serveNestOnExpress, lacks: { ...nestLacks, responses: nodeLacks.responses } },
  { name: "NestJS on Fastify", loaded: `${loaded("@nestjs/core")} on ${loaded("@nestjs/platform-fastify")}`, serve: serveNestOnFastify, lacks: { ...nestLacks, ...onNest10.fastify } },
  { name: "web", loaded: `Request and Response on ${loaded("@hono/node-server")}`, serve: serveWeb, lacks: webLacks },
];

function loaded(folder: string): string {
  const packages = folder.startsWith("@nestjs/") ? nestPackages : ".";
  const manifest = new URL(`../../../${packages}/node_modules/${folder}/package.json`, import.meta.url);
  const { name, version } = JSON.parse(readFileSync(manifest, "utf8")) as { name: string; version: string };
  return `${name} ${version}`;
}
