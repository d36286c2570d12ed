import { NONE, type FieldList } from "../headers/field.js";
import type { Pass, Refuse } from "../verdict.js";
import { EXPOSE, exposing } from "./cors.js";
import { applyToNode, type NodeResponse } from "./node.js";

/** The part of Fastify's replies that an allowed request needs. */
export interface FieldReply {
  readonly raw: NodeResponse;
  /** Returns the value of a field of this reply, or of its raw response. */
  getHeader(name: string): unknown;
  header(name: string, value: unknown): unknown;
}

/** A response with a `writeHead` that can be hooked. */
interface RawResponse extends NodeResponse {
  writeHead(...args: unknown[]): unknown;
}

/**
 * Sets the fields of an allowed request on a Fastify reply, and settles it when the response closes. Call it before the
 * handler.
 *
 * The fields are also sent when a handler writes to `reply.raw`, unless the handler sets or removes them.
 */
export function applyToReply(reply: FieldReply, verdict: Pass): void {
  const { fields, settle } = verdict;
  if (reply.raw.headersSent) return applyToNode(reply.raw, verdict);
  exposeOnReply(reply, verdict);
  if (fields.length > 0) {
    // Do not set fields on the raw response: Fastify's `writeHead` would then take Node's slow path for each field.
    for (let i = 0; i < fields.length; i += 2) reply.header(fields[i] as string, fields[i + 1]);
    keepForRaw(reply, fields);
  }
  if (settle !== null) applyToNode(reply.raw, { ...verdict, fields: NONE, expose: NONE });
}

/** Adds the names to expose to those of CORS middleware on a Fastify reply. */
export function exposeOnReply(reply: FieldReply, { expose }: Pass | Refuse): void {
  if (expose.length > 0) reply.header(EXPOSE, exposing(reply.getHeader(EXPOSE), expose));
}

// Node also calls `writeHead` for a head that the handler does not write itself. An earlier limit may have hooked it
// already.
function keepForRaw(reply: FieldReply, fields: FieldList): void {
  const raw = reply.raw as RawResponse;
  const { writeHead } = raw;
  raw.writeHead = (...args: unknown[]) => {
    if (!raw.headersSent) addMissing(reply, fields, typeof args[1] === "string" ? args[2] : args[1]);
    return writeHead.apply(raw, args);
  };
}

function addMissing(reply: FieldReply, fields: FieldList, given: unknown): void {
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    // Fastify's call already has all fields.
    if ((given as Readonly<Record<string, unknown>> | undefined)?.[name] !== undefined) continue;
    // The handler may have changed or removed the field.
    const value = reply.getHeader(name);
    if (value !== undefined && reply.raw.getHeader(name) === undefined) reply.raw.setHeader(name, value as string);
  }
}
