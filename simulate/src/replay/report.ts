import type { Refill } from "sluice";
import { bars, callerLabel, counted, duration, grouped, percent, limitsText, rateText, table, waitText } from "../text.js";
import type { LogSummary } from "./read-log.js";
import { leastShare, wholeShare, type Effect, type Recommendation } from "./recommend.js";
import type { ReplayResult } from "./replay.js";
import type { BusyCaller } from "./request-list.js";
import { linesOfUnreadable } from "./unreadable.js";

/** What a command has to say: of the log, of each policy, and of other numbers. */
export interface Findings {
  readonly log: LogSummary;
  readonly replays: readonly ReplayResult[];
  /** The limits in flight of the policies, such as `reports: parallel`. They are not replayed. */
  readonly leftOut: readonly string[];
  readonly advice: Advice | null;
}

/** With `--recommend`: the share that was asked for, a row for each rate, and the callers with the most requests. */
export interface Advice {
  readonly share: number;
  readonly rows: readonly Recommendation[];
  /** Whether no smaller capacity stays within the share. */
  readonly isSmallest: boolean;
  readonly busiest: readonly BusyCaller[];
}

/** The findings as text for a terminal. */
export function reportText(findings: Findings): string {
  const { log, replays, advice } = findings;
  if (log.requests === 0) return `${linesOfLog(findings).join("\n")}\n`;
  const parts = [
    linesOfLog(findings).join("\n"),
    ...replays.map(textOfReplay),
    advice === null ? "" : textOfAdvice(log, advice),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** What was read and what is left out, as sentences. */
export function linesOfLog({ log, leftOut }: Pick<Findings, "log" | "leftOut">): string[] {
  const { requests, callers, firstAt, lastAt, unreadable, withoutKey } = log;
  const span = `in ${duration(lastAt - firstAt)}, from ${new Date(firstAt).toISOString()}.`;
  return [
    requests === 0 ? "No lines." : `${counted(requests, "request")} of ${counted(callers, "caller")} ${span}`,
    ...(withoutKey > 0 ? [`${counted(withoutKey, "request")} without a caller, left out.`] : []),
    ...(requests > 1 && callers === 1 && log.byAddress
      ? ["All requests are of one caller. Behind a proxy its address is that of the proxy: use another field as --key."]
      : []),
    ...addressFieldLine(log),
    ...(log.takenOfList === undefined
      ? []
      : [`Of a list of addresses the first is the caller, such as ${callerLabel(log.takenOfList)}.`]),
    ...(log.notAddresses === undefined ? [] : [notAddressesLine(log.notAddresses)]),
    ...lateLine(log),
    ...(leftOut.length > 0 ? [`Limits in flight are left out, because a log has no durations: ${leftOut.join(", ")}.`] : []),
    ...linesOfUnreadable(unreadable),
  ];
}

/** Lines without the surest name have their addresses elsewhere: perhaps those of a proxy. */
function addressFieldLine({ addressField, otherAddressFields = [] }: LogSummary): string[] {
  if (addressField === undefined) return [];
  const others = otherAddressFields.map(({ field, requests }) => `${counted(requests, "request")} by ${callerLabel(field)}`);
  const rest = others.length === 0 ? "" : ` Lines without it are counted by other fields: ${others.join(", ")}.`;
  return [`The addresses are those of ${callerLabel(addressField)}.${rest}`];
}

function notAddressesLine({ requests, example }: NonNullable<LogSummary["notAddresses"]>): string {
  const read = `${counted(requests, "request")} ${requests === 1 ? "has" : "have"} no address that can be read`;
  return `${read}, such as ${callerLabel(example)}. Each such text is a caller.`;
}

/** Lines that came too late to be sorted. A few change little; many make every number wrong. */
function lateLine({ late, requests, windowMs }: LogSummary): string[] {
  if (late === 0) return [];
  const many = late > requests / 100;
  const cure = many
    ? `They are ${percent(late, requests)} of all requests, so the numbers below are wrong. ` +
      "Sort the log, or give a longer --window."
    : "Give a longer --window to sort them.";
  return [
    `${counted(late, "line")} more than ${duration(windowMs)} out of order, counted at the latest time already passed. ${cure}`,
  ];
}

/** What a policy would have done, as sentences after a title. */
export function linesOfReplay(result: ReplayResult): string[] {
  const { name, policy, requests, callers, tooCostly, longestWaitMs, most } = result;
  const title = name === "" ? `Policy ${limitsText(policy)}` : `Policy ${name} (${limitsText(policy)})`;
  const lines = [title, sentence(limitsText(policy), { ...result, capacity: 0 }, requests, callers)];
  if (tooCostly > 0) lines.push(`${grouped(tooCostly)} of these cost more than the capacity. They can never be allowed.`);
  if (longestWaitMs > 0) lines.push(`The longest wait that a refusal names: ${waitText(longestWaitMs)}.`);
  for (const { limit, capacity, tokens, key } of most) {
    const which = most.length > 1 ? ` of "${limit}"` : "";
    const used = `${grouped(tokens)} of ${grouped(capacity)} (${callerLabel(key)})`;
    if (tokens > 0) lines.push(`The most that one caller used${which}: ${used}.`);
  }
  return lines;
}

function textOfReplay(result: ReplayResult): string {
  const { refused, worst } = result;
  const rows = worst.map((caller) => [callerLabel(caller.key), caller.refused] as const);
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
  { share, rows, isSmallest, busiest }: Advice,
): { readonly intro: string; readonly after: readonly string[] } {
  const asked = `${Number((100 * share).toPrecision(12))} %`;
  const which = isSmallest ? "The smallest capacity" : "A capacity";
  const others = isSmallest ? "" : ". Costs differ, so a smaller one may do";
  const intro = `${which} that refuses at most ${asked} of the requests, or of the callers${others}:`;
  const after: string[] = [];
  const pick = exampleOf(rows);
  if (pick !== undefined) {
    const numbers = `${grouped(pick.effect.capacity)}, ${rateText(pick.refill)}`;
    after.push(`For example, ${sentence(numbers, pick.effect, requests, callers)}`);
  }
  const most = busiest.map(({ key, requests: sent }) => `${callerLabel(key)} ${grouped(sent)}`);
  if (callers > 1) after.push(`The callers with the most requests: ${most.join(", ")}.`);
  if (share > 0 && callers > 1 && wholeShare(share, callers) === 0) {
    after.push(
      `${asked} of ${grouped(callers)} callers is less than one caller, so the capacities for callers fit everyone, ` +
      `the busiest included. Ask for at least ${leastShare(callers)}.`,
    );
  }
  return { intro, after };
}

/** The head and the rows of the table of other numbers. */
export function rowsOfAdvice(rows: readonly Recommendation[]): string[][] {
  const cellsOf = (effect: Effect | null): string[] =>
    effect === null ? ["not possible", "-"] : [grouped(effect.capacity), grouped(effect.refusedCallers)];
  const cells = rows.map(({ refill, byRequests, byCallers }) => [
    rateText(refill), ...cellsOf(byRequests), ...cellsOf(byCallers),
  ]);
  return [["rate", "for requests", "callers refused", "for callers", "callers refused"], ...cells];
}

function textOfAdvice(log: LogSummary, advice: Advice): string {
  const { intro, after } = sentencesOfAdvice(log, advice);
  return [intro, table(rowsOfAdvice(advice.rows)), ...after].join("\n");
}

/** The row whose bucket fills in the time that is nearest to 10 s: a burst of people, and no store of requests. */
function exampleOf(rows: readonly Recommendation[]): { readonly refill: Refill; readonly effect: Effect } | undefined {
  const possible = rows.flatMap(({ refill, byCallers: effect }) => (effect === null ? [] : [{ refill, effect }]));
  const distance = ({ refill, effect }: (typeof possible)[number]): number =>
    Math.abs(Math.log((effect.capacity * refill.everyMs) / refill.tokens / 10_000));
  return possible.toSorted((a, b) => distance(a) - distance(b))[0];
}

/** The findings as one JSON document. Times are milliseconds. */
export function reportJson({ log, replays, leftOut, advice }: Findings): string {
  const policies = replays.map(({ policy, ...rest }) => ({ ...rest, numbers: limitsText(policy) }));
  return `${JSON.stringify({ log, policies, leftOut, recommend: advice }, null, 2)}\n`;
}
