import { resolve } from "node:path";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { Misuse, type CommandIo } from "./io.js";
import { addressFieldOf } from "./log/address-field.js";
import { FORMAT_NAMES } from "./log/format/named-formats.js";
import { ANY_FORMAT, readFormat } from "./log/format/read-format.js";
import { policiesOfModule, type PoliciesToReplay } from "./policies-of-module.js";
import { durationOfText, policyOfText, prefixOfText, shareOfText } from "./policy-text.js";
import { progressBar } from "./progress.js";
import { checkCostNames, costFieldsOf } from "./replay/cost-fields.js";
import { reportHtml } from "./replay/html.js";
import { checkPage, writePage } from "./replay/page-file.js";
import { readLog, type LogSource, type LogSummary } from "./replay/read-log.js";
import { hasOneCost, recommend } from "./replay/recommend.js";
import { Replay } from "./replay/replay.js";
import { reportJson, reportText, type Advice } from "./replay/report.js";
import { RequestList } from "./replay/request-list.js";

export const SIMULATE_HELP = `npx sluice-simulate <log> [<log> ...] --key <field> --policy "30, 5/s"

Replays a log by a policy, and says who would have been refused.

  <log>                 a file, also compressed with gzip, or - for the standard input:
                        the common or combined log format (nginx, Apache), JSON lines or logfmt,
                        also as Docker, Kubernetes, Loki or syslog pass them on, and W3C (IIS, CloudFront)
  --format <format>     another format: the text of nginx's log_format or of Apache's LogFormat, or a name
                        (${FORMAT_NAMES}).
                        Then any of its fields may be the caller, such as --key http_x_forwarded_for
  --key <field>         who the caller is: address or user; in JSON a path such as user.id. For address the
                        member with the address is found by its name; address=peer names another one
  --ipv6-prefix 56      for addresses, if your gate passes this prefix to addressKey
  --policy "30, 5/s"    capacity, and the tokens that return in a time (s, min, h, d, 10s); "100/min" is a
                        capacity of 100. May be repeated
  --policies <file>     a module that exports policies or limiters, such as limits.mjs
  --recommend 0.1%      the smallest capacity for each rate that refuses at most this share;
                        if costs differ, one that does, and perhaps not the smallest
  --time <field>        where the time is. Default: that of the format; in JSON time, timestamp, ts and others
  --cost <field>        what a request costs: bytes; in JSON a path such as usage.total_tokens.
                        For one limit tokens=usage.total_tokens. For fractions spend*100.
                        May be repeated. Default: the limit's own cost, or 1
  --window 10s          lines are sorted if they are out of order by at most this time
  --json                the findings as JSON
  --html report.html    a page of its own, with a chart of the callers with the most refusals
`;

const OPTIONS = {
  format: { type: "string" },
  key: { type: "string" },
  time: { type: "string" },
  cost: { type: "string", multiple: true },
  policy: { type: "string", multiple: true },
  policies: { type: "string" },
  recommend: { type: "string" },
  window: { type: "string" },
  json: { type: "boolean" },
  html: { type: "string" },
  "ipv6-prefix": { type: "string" },
} as const satisfies ParseArgsConfig["options"];

/** `npx sluice-simulate`: prints what policies would have done to the callers of a log. */
export async function simulate(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = readArguments(args);
  if (positionals.length === 0) throw new Misuse(`Expected a log, such as access.log, got none\n\n${SIMULATE_HELP}`);
  if (values.key === undefined)
    throw new Misuse("Expected --key, such as --key address, or --key user.id for JSON lines, got none");
  const prefix = values["ipv6-prefix"];
  if (prefix !== undefined && addressFieldOf(values.key) === null) {
    const cure = `For addresses write --key address=${values.key}`;
    throw new Misuse(`Expected no --ipv6-prefix: --key ${values.key} is no address. ${cure}`);
  }
  const fields = costFieldsOf(values.cost ?? []);
  const logFields = { key: values.key, time: values.time, costs: fields.fields };
  const format = values.format === undefined ? ANY_FORMAT : readFormat(values.format, logFields);
  if (values.html !== undefined) await checkPage(values.html, positionals, values.policies);
  const { replayed, leftOut } = await policiesIn(values);
  const share = values.recommend === undefined ? null : shareOfText(values.recommend);
  if (replayed.length === 0 && share === null) throw nothingToDo(leftOut);
  if (share !== null && fields.forAll < 0 && fields.byLimit.size > 0)
    throw new Misuse("Expected a --cost without the name of a limit for --recommend, such as --cost usage.total_tokens");
  checkCostNames(fields, replayed.map(({ policy }) => policy));

  const replays = replayed.map(({ name, policy }) => new Replay(name, policy, fields));
  const traffic = share === null && values.html === undefined ? null : new RequestList(fields.fields.length);
  const source = {
    files: positionals,
    stdin: io.stdin,
    fields: logFields,
    format,
    windowMs: durationOfText(values.window ?? "10s"),
    ipv6Prefix: prefixOfText(prefix ?? "64"),
  };
  const log = await readWithBar(source, replays, traffic, io);
  const advice = traffic === null || share === null || log.requests === 0 ? null : adviceFor(traffic, share, fields.forAll);
  const findings = { log, replays: replays.map((replay) => replay.result()), leftOut, advice };
  if (values.html !== undefined && traffic !== null) await writePage(values.html, reportHtml(findings, traffic, fields));
  io.stdout.write(values.json === true ? reportJson(findings) : reportText(findings));
}

function adviceFor(traffic: RequestList, share: number, costAt: number): Advice {
  const [rows, isSmallest] = [recommend(traffic, share, costAt), hasOneCost(traffic, costAt)];
  return { share, rows, isSmallest, busiest: traffic.busiest(5) };
}

async function readWithBar(
  source: LogSource, replays: readonly Replay[], traffic: RequestList | null, io: CommandIo,
): Promise<LogSummary> {
  const bar = progressBar(io.stderr);
  try {
    return await readLog(source, (entry) => {
      for (const replay of replays) replay.add(entry);
      traffic?.add(entry);
    }, bar.tell);
  } finally {
    bar.end(); // also before the line of a failure
  }
}

function nothingToDo(leftOut: readonly string[]): Misuse {
  if (leftOut.length === 0)
    return new Misuse('Expected --policy "30, 5/s", --policies <file> or --recommend 0.1%, got none of them');
  return new Misuse(
    `Expected a policy with a rate or a quota, got limits in flight alone: ${leftOut.join(", ")}. A log has no durations`,
  );
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new Misuse((error as Error).message);
  }
}

async function policiesIn({
  policy = [],
  policies,
}: {
  readonly policy?: readonly string[];
  readonly policies?: string;
}): Promise<PoliciesToReplay> {
  const written = policy.map((text) => ({ name: "", policy: policyOfText(text) }));
  if (policies === undefined) return { replayed: written, leftOut: [] };
  const { replayed, leftOut } = await policiesOfModule(resolve(policies));
  return { replayed: [...written, ...replayed], leftOut };
}
