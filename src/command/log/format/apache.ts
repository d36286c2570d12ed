import type { FormatField, FormatParts } from "./line-format.js";
import { variable } from "./nginx.js";
import { partsOfStrftime } from "./strftime.js";

/** The directives of Apache that nginx has a variable for. */
const VARIABLES: Readonly<Record<string, string>> = {
  a: "remote_addr",
  h: "remote_addr",
  u: "remote_user",
  r: "request",
  s: "status",
  b: "body_bytes_sent",
  B: "body_bytes_sent",
  O: "bytes_sent",
  I: "request_length",
  D: "request_time",
  T: "request_time",
  m: "request_method",
  U: "uri",
  q: "query_string",
  H: "server_protocol",
  v: "server_name",
  V: "host",
  p: "server_port",
  A: "server_addr",
  P: "pid",
  l: "ident",
  L: "request_id",
};
/** What is before the name of a header, a cookie or a variable. */
const BEFORE: Readonly<Record<string, string>> = { i: "http_", o: "sent_http_", C: "cookie_" };
// %h, %>s, %!200,304{User-agent}i, %{X-Forwarded-For}i, %{c}a, %{ms}T, %^FB, %%
const APACHE_DIRECTIVE = /%(?:[<>]|!?\d{3}(?:,\d{3})*)*(?:\{([^}]*)\})?(\^?[a-zA-Z]{1,2}|%)/g;

/** Reads the text of Apache's `LogFormat`: `%h %l %u %t "%r" %>s %b`. */
export function partsOfDirectives(text: string): FormatParts {
  const parts: (string | FormatField)[] = [];
  let at = 0;
  for (const found of text.matchAll(APACHE_DIRECTIVE)) {
    const [whole, argument, letters = ""] = found;
    // Two letters are one directive only after ^: %D%T are two.
    const letter = letters.startsWith("^") ? letters : letters.slice(0, 1);
    parts.push(text.slice(at, found.index));
    at = found.index + whole.length - (letters.length - letter.length);
    if (letter === "%") parts.push("%");
    else if (letter === "t") parts.push(...partsOfTime(argument));
    else parts.push(fieldOf(text.slice(found.index, at), letter, argument));
  }
  return [...parts, text.slice(at)];
}

function partsOfTime(argument: string | undefined): FormatParts {
  if (argument === undefined || argument === "") return ["[", variable("time_local", "%t"), "]"];
  return partsOfStrftime(argument.replace(/^(?:begin|end):/, ""));
}

function fieldOf(directive: string, letter: string, argument = ""): FormatField {
  const before = BEFORE[letter];
  if (before !== undefined) return variable(`${before}${argument.toLowerCase().replaceAll("-", "_")}`, directive, argument);
  if (letter === "a" && argument === "c") return variable("peer_addr", directive);
  if (letter === "p" && argument === "remote") return variable("remote_port", directive);
  const name = Object.hasOwn(VARIABLES, letter) ? VARIABLES[letter] : undefined;
  if (name !== undefined) return variable(name, directive);
  return variable(argument || directive, directive);
}
