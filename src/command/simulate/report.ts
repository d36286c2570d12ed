import { bars, counted, duration, grouped, percent, limitsText, printable, rateText, table } from "../text.js";
import type { LogSummary } from "./read-log.js";
import type { Effect, Recommendation } from "./recommend.js";
import type { ReplayResult } from "./replay.js";

/** What a command has to say: of the log, of each policy, and of other numbers. */
export interface Findings {
  readonly log: LogSummary;
  readonly replays: readonly ReplayResult[];
  /** With `--recommend`: the share that was asked for, and a row for each rate. */
  readonly advice: { readonly share: number; readonly rows: readonly Recommendation[] } | null;
}

/** The findings as text for a terminal. */
export function reportText({ log, replays, advice }: Findings): string {
  const parts = [
    linesOfLog(log).join("\n"),
    ...replays.map(textOfReplay),
    advice === null ? "" : textOfAdvice(log, advice.share, advice.rows),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** What was read, as sentences. */
export function linesOfLog({ requests, callers, firstAt, lastAt, unreadable, withoutKey, late, windowMs }: LogSummary): string[] {
  const span = `in ${duration(lastAt - firstAt)}, from ${new Date(firstAt).toISOString()}.`;
  const lines = [requests === 0 ? "No requests." : `${counted(requests, "request")} of ${counted(callers, "caller")} ${span}`];
  if (withoutKey > 0) lines.push(`${counted(withoutKey, "request")} without a caller, left out.`);
  if (late > 0) {
    const what = `${counted(late, "line")} more than ${duration(windowMs)} out of order, taken at the time of the line before`;
    lines.push(`${what}. Give a longer --window to sort them.`);
  }
  if (unreadable.count > 0) lines.push(`${counted(unreadable.count, "line")} that cannot be read, left out:`);
  for (const { line, text } of unreadable.first)
    lines.push(`  line ${grouped(line)}: ${printable(text.length > 100 ? `${text.slice(0, 100)}…` : text)}`);
  return lines;
}

/** What a policy would have done, as sentences after a title. */
export function linesOfReplay(result: ReplayResult): string[] {
  const { name, policy, requests, callers, tooCostly, longestWaitMs, most } = result;
  const title = name === "" ? `Policy ${limitsText(policy)}` : `Policy ${name} (${limitsText(policy)})`;
  const lines = [title, sentence(limitsText(policy), { ...result, capacity: 0 }, requests, callers)];
  if (tooCostly > 0) lines.push(`${counted(tooCostly, "request")} of them cost more than the capacity: no wait helps.`);
  if (longestWaitMs > 0) lines.push(`The longest wait that a refusal names: ${duration(longestWaitMs)}.`);
  for (const { limit, capacity, tokens, key } of most) {
    const which = most.length > 1 ? ` of "${limit}"` : "";
    const used = `${grouped(tokens)} of ${grouped(capacity)} (${printable(key)})`;
    if (tokens > 0) lines.push(`The most that one caller used${which}: ${used}.`);
  }
  return lines;
}

function textOfReplay(result: ReplayResult): string {
  const { refused, worst } = result;
  const rows = worst.map((caller) => [printable(caller.key), caller.refused] as const);
  const plot = ["", "Refused requests of the callers with the most:", bars(rows)];
  return [...linesOfReplay(result), ...(refused > 0 ? plot : [])].join("\n");
}

/** "30, 5/s refuses 2 of 302 callers; they sent 71 % of all requests." */
function sentence(
  numbers: string,
  { refused, refusedCallers, requestsOfRefused }: Effect,
  requests: number,
  callers: number,
): string {
  if (refused === 0) return `${numbers} refuses nothing.`;
  return (
    `${numbers} refuses ${grouped(refused)} of ${counted(requests, "request")} (${percent(refused, requests)}) and ` +
    `${grouped(refusedCallers)} of ${counted(callers, "caller")}; they sent ` +
    `${percent(requestsOfRefused, requests)} of all requests.`
  );
}

/** What comes before and after the table of other numbers. */
export function sentencesOfAdvice(
  { requests, callers }: LogSummary,
  share: number,
  rows: readonly Recommendation[],
): { readonly intro: string; readonly example: string } {
  const intro = `The smallest capacity that refuses at most ${Number((100 * share).toPrecision(12))} % of the ` +
    "requests, or of the callers:";
  const pick = exampleOf(rows);
  if (pick === undefined) return { intro, example: "" };
  const numbers = `${grouped(pick.byCallers.capacity)}, ${rateText(pick.refill)}`;
  return { intro, example: `For example, ${sentence(numbers, pick.byCallers, requests, callers)}` };
}

/** The head and the rows of the table of other numbers. */
export function rowsOfAdvice(rows: readonly Recommendation[]): string[][] {
  const cells = rows.map(({ refill, byRequests, byCallers }) => [
    rateText(refill),
    ...[byRequests.capacity, byRequests.refusedCallers, byCallers.capacity, byCallers.refusedCallers].map(grouped),
  ]);
  return [["rate", "for requests", "callers refused", "for callers", "callers refused"], ...cells];
}

function textOfAdvice(log: LogSummary, share: number, rows: readonly Recommendation[]): string {
  const { intro, example } = sentencesOfAdvice(log, share, rows);
  return [intro, table(rowsOfAdvice(rows)), ...(example === "" ? [] : [example])].join("\n");
}

/** The row whose bucket fills in the time that is nearest to 10 s: a burst of people, and no store of requests. */
function exampleOf(rows: readonly Recommendation[]): Recommendation | undefined {
  const distance = ({ refill, byCallers }: Recommendation): number =>
    Math.abs(Math.log((byCallers.capacity * refill.everyMs) / refill.tokens / 10_000));
  return rows.toSorted((a, b) => distance(a) - distance(b))[0];
}

/** The findings as one JSON document. Times are milliseconds. */
export function reportJson({ log, replays, advice }: Findings): string {
  const policies = replays.map(({ policy, ...rest }) => ({ ...rest, numbers: limitsText(policy) }));
  return `${JSON.stringify({ log, policies, recommend: advice }, null, 2)}\n`;
}
