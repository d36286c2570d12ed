/** What programs that pass lines on write before them: container runtimes, kubectl, Docker Compose, syslog. */
const PREFIXES = [
  /^\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP](?::\S*)? /, // CRI
  /^\d{4}-\d\d-\d\dT\S+ (?=\S)/, // kubectl logs --timestamps, docker logs --timestamps
  /^\[(?:pod\/)?[^\]\s"{]+\] /, // kubectl logs --prefix
  /^[\w.-]+ *\| /, // Docker Compose
  /^<\d{1,3}>1 \S+ \S+ \S+ \S+ \S+ (?:-|\[[^\]]*\]) /, // syslog of RFC 5424
  /^(?:[\w.-]+ )?[\w./-]+\[[^\]\s]+\]: /, // rsyslog after its time, and Heroku
  /^(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [^\s:]+: /, // syslog of RFC 3164
];
const PREFIX_TIME = /^\d{4}-\d\d-\d\dT\S+/;

// Loggers of Go write slashes, and those of Java a comma before the milliseconds.
const LEADING_TIME = /^\[?(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)/;

/** The time with which a logger begins its text, or undefined. */
export const leadingTime = (text: string): string | undefined => LEADING_TIME.exec(text)?.[1];

/** A line without the prefixes before it, and the time that a prefix had. */
export function withoutPrefixes(line: string): { readonly text: string; readonly time: string | undefined } {
  let text = line;
  let time: string | undefined;
  // Each turn takes a prefix away. Few programs pass a line on twice.
  for (let turn = 0; turn < 4; turn++) {
    const found = PREFIXES.map((prefix) => prefix.exec(text)?.[0]).find((each) => each !== undefined);
    if (found === undefined) break;
    time ??= PREFIX_TIME.exec(found)?.[0];
    text = text.slice(found.length);
  }
  return { text, time };
}

/**
 * The members in which log shippers keep the line of a program: Docker, Loki, journald, Google Cloud, OpenTelemetry.
 */
const LINE_MEMBERS = ["log", "line", "message", "msg", "MESSAGE", "textPayload", "jsonPayload", "body", "Body", "event", "data"];

/** What an envelope holds: texts and objects. */
export function contentsOf(record: object): unknown[] {
  return LINE_MEMBERS.filter((name) => Object.hasOwn(record, name))
    .map((name) => (record as Record<string, unknown>)[name])
    .filter((inner) => (typeof inner === "string" && inner !== "") || (typeof inner === "object" && inner !== null));
}

const PAIR = /([\w.@-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))(?:\s+|$)/y;

/** Reads `time=… user=42 msg="…"`. Undefined for a line that does not begin so. */
export function logfmtOf(line: string): Record<string, string> | undefined {
  const pairs: [string, string][] = [];
  PAIR.lastIndex = 0;
  for (let found = PAIR.exec(line); found !== null; found = PAIR.exec(line)) {
    pairs.push([found[1] as string, found[2] ?? found[3] ?? ""]);
    if (PAIR.lastIndex >= line.length) break;
  }
  return pairs.length < 2 ? undefined : Object.fromEntries(pairs);
}
