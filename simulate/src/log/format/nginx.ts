import type { FormatField, FormatParts } from "./line-format.js";

const NUMBER = /-?\d{1,20}(?:\.\d{1,9})?|-/y;
const LOCAL_TIME = /\d{1,2}\/[A-Za-z]{3}\/\d{4}:\d\d:\d\d:\d\d(?:\.\d{1,9})?(?: [+-]\d{4})?/y;

/** What the values of variables look like. The value of another one ends where the text after it begins. */
const SHAPES: Readonly<Record<string, RegExp>> = {
  time_local: LOCAL_TIME,
  status: NUMBER,
  body_bytes_sent: NUMBER,
  bytes_sent: NUMBER,
  bytes_received: NUMBER,
  request_length: NUMBER,
  request_time: NUMBER,
  msec: NUMBER,
  connection: NUMBER,
  connection_requests: NUMBER,
  pid: NUMBER,
  remote_port: NUMBER,
  server_port: NUMBER,
  client_port: NUMBER,
};

// A syslog line before the address is no part of it.
const WORD_VARIABLES = new Set([
  "remote_addr", "client_ip", "host", "server_name", "response_flags", "response_code_details", "connection_termination_details",
]);

/** A field by the name of the variable of nginx. `others` are further names. */
export function variable(name: string, ...others: readonly string[]): FormatField {
  const shape = Object.hasOwn(SHAPES, name) ? SHAPES[name] : undefined;
  return { names: [name, ...others], shape, isWord: WORD_VARIABLES.has(name) };
}

/** Reads the text of nginx's `log_format`: `$remote_addr - $remote_user [$time_local]`. */
export function partsOfVariables(text: string): FormatParts {
  const parts: (string | FormatField)[] = [];
  let at = 0;
  for (const found of text.matchAll(/\$(?:\{(\w+)\}|(\w+))/g)) {
    parts.push(text.slice(at, found.index), variable((found[1] ?? found[2]) as string));
    at = found.index + found[0].length;
  }
  return [...parts, text.slice(at)];
}
