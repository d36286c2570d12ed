import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs, type ParseArgsConfig } from "node:util";
import type { Policy } from "../../core/policy.js";
import type { CommandIo } from "../io.js";
import { Misuse } from "../misuse.js";
import { durationOfText, policyOfText, shareOfText } from "../policy-text.js";
import { progressBar } from "../progress.js";
import { reportHtml } from "./html.js";
import { policiesOfFile } from "./policies-of-file.js";
import { readLog } from "./read-log.js";
import { recommend } from "./recommend.js";
import { Replay } from "./replay.js";
import { reportJson, reportText } from "./report.js";
import { RequestList } from "./request-list.js";

export const SIMULATE_HELP = `npx sluice simulate <log> [<log> ...] --key <field> --policy "30, 5/s"

Replays a log by a policy, and says who would have been refused.

  <log>                 a file, also compressed with gzip, or - for the standard input:
                        the common or combined log format (nginx, Apache), or JSON lines
  --key <field>         who the caller is: address or user; in JSON a path such as user.id
  --policy "30, 5/s"    capacity, and the tokens that return in a time (s, min, h, d, 10s). May be repeated
  --policies <file>     a module that exports policies or limiters, such as limits.mjs
  --recommend 0.1%      the smallest capacity for each rate that refuses at most this share
  --time <field>        in JSON: where the time is. Default: time, timestamp, ts, @timestamp, at or date
  --cost <field>        what a request costs: bytes; in JSON a path such as usage.total_tokens. Default: 1
  --window 10s          lines are sorted if they are out of order by at most this time
  --json                the findings as JSON
  --html report.html    a page of its own, with a chart of the callers with the most refusals
`;

const OPTIONS = {
  key: { type: "string" },
  time: { type: "string" },
  cost: { type: "string" },
  policy: { type: "string", multiple: true },
  policies: { type: "string" },
  recommend: { type: "string" },
  window: { type: "string" },
  json: { type: "boolean" },
  html: { type: "string" },
} as const satisfies ParseArgsConfig["options"];

/** `npx sluice simulate`: prints what policies would have done to the callers of a log. */
export async function simulate(args: readonly string[], io: CommandIo): Promise<void> {
  const { values, positionals } = readArguments(args);
  if (positionals.length === 0) throw new Misuse(`Expected a log, such as access.log, got none\n\n${SIMULATE_HELP}`);
  if (values.key === undefined)
    throw new Misuse("Expected --key, such as --key address, or --key user.id for JSON lines, got none");
  const policies = await policiesIn(values);
  const share = values.recommend === undefined ? null : shareOfText(values.recommend);
  if (policies.length === 0 && share === null)
    throw new Misuse('Expected --policy "30, 5/s", --policies <file> or --recommend 0.1%, got none of them');

  const replays = policies.map(([name, policy]) => new Replay(name, policy));
  const traffic = share === null && values.html === undefined ? null : new RequestList();
  const bar = progressBar(io.stderr);
  const source = {
    files: positionals,
    stdin: io.stdin,
    fields: { key: values.key, time: values.time, cost: values.cost },
    windowMs: durationOfText(values.window ?? "10s"),
  };
  const log = await readLog(source, (entry) => {
    for (const replay of replays) replay.add(entry);
    traffic?.add(entry);
  }, bar.tell);
  bar.end();
  const advice = traffic === null || share === null ? null : { share, rows: recommend(traffic, share) };
  const findings = { log, replays: replays.map((replay) => replay.result()), advice };
  if (values.html !== undefined && traffic !== null) await writePage(values.html, reportHtml(findings, traffic));
  io.stdout.write(values.json === true ? reportJson(findings) : reportText(findings));
}

async function writePage(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw new Misuse(`Cannot write ${file}: ${(error as Error).message}`);
  }
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
}): Promise<[name: string, policy: Policy][]> {
  const written = policy.map((text): [string, Policy] => ["", policyOfText(text)]);
  return policies === undefined ? written : [...written, ...(await policiesOfFile(resolve(policies)))];
}
