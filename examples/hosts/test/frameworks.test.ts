// The adapters of examples/hosts/servers under the adapter suite, each on its real framework.
import { adapterSuite } from "sluice/testing";
import { describe, test } from "vitest";
import { h3Lacks, serveH3 } from "./servers/h3.js";
import { serveKoa } from "./servers/koa.js";
import { nestLacks, serveNestOnExpress, serveNestOnFastify } from "./servers/nest.js";

describe("Koa", () => adapterSuite({ test, serve: serveKoa }));
describe("h3", () => adapterSuite({ test, serve: serveH3, lacks: h3Lacks }));
describe("NestJS on Express", () => adapterSuite({ test, serve: serveNestOnExpress, lacks: nestLacks }));
describe("NestJS on Fastify", () => adapterSuite({ test, serve: serveNestOnFastify, lacks: nestLacks }));
