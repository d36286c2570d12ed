import type { FormatField, FormatParts } from "./line-format.js";
import { variable } from "./nginx.js";

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

const TWO = / ?\d{1,2}/y;
const LETTERS = /[^\W\d_]{1,20}\.?/uy;

/** The parts of a time as strftime and Apache name them. */
const PARTS: Readonly<Record<string, FormatField>> = {
  Y: { names: ["%Y"], time: "year", shape: /\d{4}/y },
  y: { names: ["%y"], time: "shortYear", shape: TWO },
  m: { names: ["%m"], time: "month", shape: TWO },
  b: { names: ["%b"], time: "month", shape: LETTERS },
  B: { names: ["%B"], time: "month", shape: LETTERS },
  h: { names: ["%h"], time: "month", shape: LETTERS },
  d: { names: ["%d"], time: "day", shape: TWO },
  e: { names: ["%e"], time: "day", shape: TWO },
  H: { names: ["%H"], time: "hour", shape: TWO },
  k: { names: ["%k"], time: "hour", shape: TWO },
  I: { names: ["%I"], time: "hour", shape: TWO },
  l: { names: ["%l"], time: "hour", shape: TWO },
  p: { names: ["%p"], time: "half", shape: /[AP]M/iy },
  M: { names: ["%M"], time: "minute", shape: TWO },
  S: { names: ["%S"], time: "second", shape: TWO },
  z: { names: ["%z"], time: "zone", shape: /[+-]\d\d:?\d\d|Z/y },
  Z: { names: ["%Z"], shape: LETTERS },
  a: { names: ["%a"], shape: LETTERS },
  A: { names: ["%A"], shape: LETTERS },
  j: { names: ["%j"], shape: /\d{3}/y },
  s: { names: ["%s"], time: "epoch", shape: /\d{1,12}/y },
};
/** Directives that stand for several. */
const SHORTHANDS: Readonly<Record<string, string>> = {
  D: "%m/%d/%y",
  F: "%Y-%m-%d",
  R: "%H:%M",
  T: "%H:%M:%S",
  r: "%I:%M:%S %p",
  c: "%a %b %e %H:%M:%S %Y",
  n: "\n",
  t: "\t",
};
/** The words that Apache writes instead of the directives of strftime. */
const APACHE_TIMES: Readonly<Record<string, FormatField>> = {
  sec: { names: ["sec"], time: "epoch", shape: /\d{1,12}/y },
  msec: { names: ["msec"], time: "epoch", shape: /\d{1,15}/y },
  usec: { names: ["usec"], time: "epoch", shape: /\d{1,18}/y },
  msec_frac: { names: ["msec_frac"], time: "fraction", shape: /\d{3}/y },
  usec_frac: { names: ["usec_frac"], time: "fraction", shape: /\d{6}/y },
};

/** Reads the text of a time, such as `%d/%b/%Y:%H:%M:%S %z`, or a word of Apache, such as `msec`. */
function partsOfStrftime(text: string): FormatParts {
  if (Object.hasOwn(APACHE_TIMES, text)) return [APACHE_TIMES[text] as FormatField];
  const written = text.replace(/%[EO_^#0-]?([DFRTrcnt])/g, (_, letter: string) => SHORTHANDS[letter] as string);
  const parts: (string | FormatField)[] = [];
  let at = 0;
  for (const found of written.matchAll(/%[EO_^#0-]?([a-zA-Z%])/g)) {
    const letter = found[1] as string;
    parts.push(written.slice(at, found.index));
    parts.push(letter === "%" ? "%" : (PARTS[letter] ?? { names: [`%${letter}`] }));
    at = found.index + found[0].length;
  }
  return [...parts, written.slice(at)];
}
