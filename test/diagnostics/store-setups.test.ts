// Which failures of a store come from a setting, by the server's words, however a client wraps them. test/advice brings most of
// them about on real servers.
import { createLimiter, perHour } from "sluice";
import { guard } from "sluice/store";
import { describe, expect, test } from "vitest";
import { hearWarnings } from "../helpers/warned.js";
import { storeOf } from "../helpers/store-of.js";

async function warnedOf(error: unknown): Promise<string[]> {
  const warnings = hearWarnings();
  const consume = async (): Promise<never> => Promise.reject(error as Error);
  const limiter = createLimiter({ policy: { name: "api", capacity: 5, refill: perHour(5) }, store: storeOf({ sync: false, clock: "server", guard: guard(), consume }) });
  for (let i = 0; i < 12; i++) await limiter.consume(`caller ${i}`);
  return warnings;
}

const withCode = (code: string, message = "refused"): Error => Object.assign(new Error(message), { code });

const setups: ReadonlyArray<readonly [words: string | Error, cure: RegExp]> = [
  ["MOVED 11211 127.0.0.1:7722", /cluster client/],
  ["ASK 3999 127.0.0.1:6381", /cluster client/],
  ["CROSSSLOT Keys in request don't hash to the same slot", /cluster client/],
  ["READONLY You can't write against a read only replica.", /Connect to the primary.*reconnectOnError/],
  ["READONLY You can't write against a read only slave.", /Connect to the primary/],
  ["NOAUTH Authentication required.", /Set `password`/],
  ["NOAUTH HELLO must be called with the client already authenticated, otherwise use the HELLO AUTH option", /Set `password`/],
  ["ERR Protocol error: unauthenticated multibulk length", /Set `password`/],
  ["WRONGPASS invalid username-password pair or user is disabled.", /Correct `username` and `password`/],
  ["WRONGPASS invalid or missing auth token", /or its token/],
  ["ERR invalid password", /Correct `username` and `password`/],
  ["NOPERM this user has no permissions to run the 'evalsha' command", /\+evalsha/],
  ["NOPERM No permissions to access a key", /~sluice:\* .*where `sluice` is the `prefix` of the store, after the `keyPrefix` of the client/],
  ["ERR unknown command 'EVALSHA', with args beginning with: ", /Allow EVAL and EVALSHA/],
  ["ERR unknown command `eval`, with args beginning with: ", /Allow EVAL and EVALSHA/],
  ["ERR Error running script (call to f_1): @user_script:1: @user_script: 1: Unknown Redis command called from Lua script", /Redis 6\.2 or newer/],
  ["ERR Error running script: Write commands not allowed after non deterministic commands", /Redis 6\.2 or newer/],
  ["DENIED Redis is running in protected mode because protected mode is enabled", /protected mode/],
  ["OOM command not allowed when used memory > 'maxmemory'.", /Raise `maxmemory`/],
  ["Connection in subscriber mode, only subscriber commands may be used", /a client of its own/],
  ["ERR Can't execute 'evalsha': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context", /a client of its own/],
  [withCode("28P01"), /Correct both/],
  [withCode("28000"), /Correct both/],
  [withCode("3D000"), /Correct `database`/],
  [withCode("3F000"), /correct `table`/],
  [withCode("25006"), /Connect to the primary/],
  [withCode("42501"), /GRANT SELECT, INSERT, UPDATE, DELETE on its table .* USAGE on its schema and EXECUTE on its functions/],
  [withCode("08P01", "unsupported startup parameter: statement_timeout"), /ALTER ROLE app SET statement_timeout/],
  ["SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string", /Set `password` of the pool/],
];

describe("a setting with which a store never works", () => {
  test.each(setups.map(([words, cure]) => [typeof words === "string" ? words : `SQLSTATE ${String((words as { code?: string }).code)}`, words, cure] as const))("%s", async (_, words, cure) => {
    const error = typeof words === "string" ? new Error(words) : words;
    const wrapped: Record<string, unknown> = {
      bare: error,
      "as a cause": new Error("The store did not answer within 100 ms", { cause: error }),
      "of a cluster's last node": Object.assign(new Error("Failed to refresh slots cache."), { lastNodeError: error }),
    };
    if (typeof words === "string") wrapped["by Upstash"] = new Error(`Command failed: ${words}`);
    for (const each of Object.values(wrapped)) {
      expect(await warnedOf(each)).toEqual([expect.stringMatching(new RegExp(`^SLUICE_STORE_SETUP: The store of policy "api" .*${cure.source}`))]);
    }
  });

  test("is told once for each setting of a store", async () => {
    const warnings = hearWarnings();
    let error = new Error("NOAUTH Authentication required.");
    const consume = async (): Promise<never> => Promise.reject(error);
    const limiter = createLimiter({ policy: { name: "api", capacity: 5, refill: perHour(5) }, store: storeOf({ sync: false, clock: "server", guard: guard({ breaker: false }), consume }) });
    for (const words of ["NOAUTH Authentication required.", "NOPERM No permissions to access a key", "NOAUTH Authentication required."]) {
      error = new Error(words);
      for (let i = 0; i < 3; i++) await limiter.consume(`caller ${i}`);
    }
    expect(warnings.map((line) => / has (.*?)[.:]/.exec(line)?.[1])).toEqual(["no password", "a user without the rights that it needs"]);
  });
});

test.each([
  "LOADING Redis is loading the dataset in memory",
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  "CLUSTERDOWN The cluster is down",
  "TRYAGAIN Multiple keys request during rehashing of slot",
  "BUSY Redis is busy running a script.",
  "connect ECONNREFUSED 127.0.0.1:6379",
  "Connection is closed.",
  "the caller said MOVED 1 and READONLY in a key",
])("an outage is no such setting: %s", async (message) => {
  expect(await warnedOf(new Error(message))).toEqual([expect.stringContaining("SLUICE_STORE_UNAVAILABLE: ")]);
});
