import { replacementOf } from "#diagnostics";
import { checkOptions, expected, wholeNumber } from "../core/check.js";
import type { Limiter } from "../limiter/limiter.js";
import { LIMITER_OPTIONS } from "../limiter/options.js";
import type { GateOptions } from "./options.js";

const FUNCTIONS = ["skip", "body", "onDecision", "refundWhen", "partitionKey", "wallClock"] as const;

const KNOWN: readonly string[] = [...FUNCTIONS, ...LIMITER_OPTIONS, "limiter", "key", "cost", "headers", "retryAfter", "unidentified"];

/** Throws a TypeError or RangeError for the first option of a gate that is wrong, misspelt or in the way of another. */
export function checkGateOptions<Request>(options: GateOptions<Request>): void {
  checkOptions(options, KNOWN, "an object with a `policy` and a `key`", replacementOf);
  if (typeof options.key !== "function") throw new TypeError(expected("key", "a function of the request", options.key));
  for (const name of FUNCTIONS) {
    if (options[name] !== undefined && typeof options[name] !== "function") {
      throw new TypeError(expected(name, "a function", options[name]));
    }
  }
  if (typeof options.cost !== "function" && options.cost !== undefined) wholeNumber("cost", options.cost);
  oneOf("retryAfter", ["seconds", "http-date"], options.retryAfter);
  oneOf("unidentified", ["share", "refuse", "skip"], options.unidentified);
  if (options.limiter !== undefined) {
    for (const name of LIMITER_OPTIONS) {
      // A function picks among policies; only numbers of its own would contradict the limiter's.
      if (options[name] !== undefined && !(name === "policy" && typeof options.policy === "function")) throw new TypeError(`Expected \`${name}\` to be the limiter's own, got both \`limiter\` and \`${name}\``);
    }
    if (typeof (options.limiter as Limiter | null)?.consume !== "function") {
      throw new TypeError(expected("limiter", "made by createLimiter", options.limiter));
    }
  }
}

function oneOf(name: string, choices: readonly string[], value: unknown): void {
  if (value === undefined || choices.includes(value as string)) return;
  throw new RangeError(expected(name, choices.map((choice) => JSON.stringify(choice)).join(" or "), value));
}
