// Each command that a page shows runs as it is shown: in a shell, beside the files that the page speaks of, over a real Redis.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Redis } from "ioredis";
import { createLimiter, type PlainLimiter } from "sluice";
import { RedisStore } from "sluice/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundled } from "../helpers/bundled.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import { commandsIn, pagesWithCommands } from "./shown-commands.js";

const shown = pagesWithCommands().flatMap((page) => commandsIn(page));

test("the pages show commands, in blocks and in sentences", () => {
  expect(shown.length).toBeGreaterThan(12);
  expect(new Set(shown.map(({ page }) => page)).size).toBeGreaterThan(5);
  const text = "`npx sluice peek` of\n```sh\n$ npx sluice peek a b \\\n  c\nls\ncat x | npx sluice-simulate - -h\nNODE_OPTIONS=\"--import tsx\" npx sluice peek a b\n```\nor `npx sluice reset a b c`.";
  expect(commandsIn("page", text).map(({ command }) => command)).toEqual(["npx sluice peek a b c", "cat x | npx sluice-simulate - -h", 'NODE_OPTIONS="--import tsx" npx sluice peek a b', "npx sluice reset a b c"]);
});

describeWith("redis", "the commands that pages show", () => {
  const folder = mkdtempSync(join(process.cwd(), "node_modules/.cache/pages-"));
  const prefix = `pages-${process.pid}-${Date.now()}`;
  const redis = new Redis(redisUrl(), { lazyConnect: true });
  let limiters: PlainLimiter[];
  let login: PlainLimiter;
  beforeAll(async () => {
    const [command, simulate, module] = await Promise.all(["src/command/main.ts", "simulate/src/main.ts", "test/command/pages-module.ts"].map(bundled));
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin/npx"), `#!/bin/sh\ncase "$1" in sluice) tool='${command}';; sluice-simulate) tool='${simulate}';; *) exit 127;; esac\nshift\nexec '${process.execPath}' "$tool" "$@"\n`, { mode: 0o755 });
    for (const name of ["limits.mjs", "limits.mts"]) writeFileSync(join(folder, name), `export * from ${JSON.stringify(module)};\n`);
    cpSync("examples/simulate", join(folder, "examples/simulate"), { recursive: true });
    for (const name of ["limits.ts", "of-simulate.mjs"]) cpSync(await bundled("examples/simulate/limits.ts"), join(folder, name));
    // Logs of two users, of whom one asks too often. The last field is a header that a server was told to write.
    const times = Array.from({ length: 40 }, (_, i) => ({ time: new Date(Date.UTC(2026, 10, 20, 10, 0, i / 8)), user: i % 9 === 0 ? "7" : "42" }));
    const common = ({ time, user }: (typeof times)[0]) => `203.0.113.${user} - ${user} [20/Nov/2026:10:00:0${time.getUTCSeconds()} +0000] "GET / HTTP/1.1" 200 648 "198.51.100.${user}"`;
    writeFileSync(join(folder, "access.log"), `${times.map(common).join("\n")}\n`);
    const haproxy = ({ time, user }: (typeof times)[0]) => `Nov 20 10:00:00 lb haproxy[7]: 203.0.113.${user}:4711 [20/Nov/2026:10:00:0${time.getUTCSeconds()}.000] web app/one 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET / HTTP/1.1"`;
    writeFileSync(join(folder, "haproxy.log"), `${times.map(haproxy).join("\n")}\n`);
    const iis = ({ time, user }: (typeof times)[0]) => `2026-11-20 10:00:0${time.getUTCSeconds()} 10.0.0.1 GET / 203.0.113.${user} 200`;
    writeFileSync(join(folder, "u_ex261120.log"), ["#Version: 1.0", "#Fields: date time s-ip cs-method cs-uri-stem c-ip sc-status", ...times.map(iis), ""].join("\r\n"));
    const app = times.map(({ time, user }) => JSON.stringify({ ts: time, user: { id: user }, usage: { total_tokens: 2_000 } }));
    writeFileSync(join(folder, "app.log.gz"), gzipSync(app.join("\n")));
    const decisions = times.map(({ time, user }) => JSON.stringify({ time, policy: "interactive", key: ["user", user], cost: 1 }));
    writeFileSync(join(folder, "decisions.log"), `${decisions.join("\n")}\n`);
    const store = new RedisStore(redis, { prefix, timeoutMs: 5_000, denyCacheMs: 0 });
    login = createLimiter({ policy: { name: "login-address", capacity: 20, refill: { tokens: 20, everyMs: 60_000 } }, store });
    limiters = [
      createLimiter({ policy: { name: "interactive", capacity: 1_000, refill: { tokens: 1, everyMs: 60_000 } }, store }),
      createLimiter({ policy: { name: "chat", limits: [{ name: "requests", capacity: 60, refill: { tokens: 1, everyMs: 60_000 } }, { name: "month", capacity: 10_000, refill: { tokens: 1, everyMs: 60_000 } }] }, store }),
    ];
  });
  afterAll(async () => {
    const keys = await redis.keys(`*${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
    rmSync(folder, { recursive: true });
  });

  /** Why a command does not work as it is shown, or null. User 42 has spent something. */
  async function faultOf(shownAs: string): Promise<string | null> {
    // Older versions of Node load no TypeScript.
    const command = (process.features as { readonly typescript?: unknown }).typescript ? shownAs : shownAs.replace(/\blimits\.ts$/, "of-simulate.mjs");
    await login.debit(["address", "203.0.113.7"], 1);
    for (const limiter of limiters) await limiter.debit(["user", "42"], { cost: limiter.policy.name === "chat" ? { requests: 5, month: 5 } : 5 });
    const env = { ...process.env, PATH: `${join(folder, "bin")}:${process.env["PATH"] ?? ""}`, PAGES_REDIS: redisUrl(), PAGES_PREFIX: prefix };
    const { code, out, err } = await new Promise<{ code: unknown; out: string; err: string }>((resolve) => {
      execFile("sh", ["-c", command], { cwd: folder, env, timeout: 60_000 }, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
    });
    if (code !== 0 || err !== "" || out === "") return `${String(code)} ${err}`;
    if (/npx sluice-simulate/.test(command)) return /^\d+ requests of [2-9]\d* callers/.test(out) || /^\d+ requests of 1\d+ callers/.test(out) ? null : out;
    return out.includes("check the spelling") ? out : null;
  }

  test.each(shown.map(({ page, command }) => [page, command.slice(0, 90), command] as const))("%s: %s", async (_page, _title, command) => {
    expect(await faultOf(command)).toBeNull();
  });

  test.each([
    "npx sluice peek ./limits.mjs interactve user 42", "npx sluice peek ./limit.mjs interactive user 42", "npx sluice peek ./limits.mjs interactive user 43",
    'npx sluice peek ./limits.mjs interactive "user 42"', "npx sluice peek ./limits.mjs interactive user 42 --policy gold", "npx sluice peek ./limits.mjs interactive user 7 --policy callers.[\"user\",\"7\"]",
    "npx sluice credit ./limits.mjs chat user 42 --cost 10", "npx sluice credit ./limits.mjs interactive user 42", "npx sluice block ./limits.mjs interactive user 42", "npx sluice look ./limits.mjs interactive user 42",
    "npx sluice simulate access.log --key address --recommend 1%", "npx sluice-simulate access.log --recommend 1%", "npx sluice-simulate gone.log --key address --recommend 1%", "npx sluice-simulate decisions.log --key address --recommend 1%",
    'npx sluice-simulate access.log --key time --policy "5 per second"', "npx sluice-simulate access.log --key address --policies limits.json", "npx other peek", "zcat access.log | npx sluice-simulate - --key address --recommend 1%",
  ])("a command that does not work fails the test: %s", async (command) => {
    expect(await faultOf(command)).not.toBeNull();
  });
});
