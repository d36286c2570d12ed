// The program of examples/admin, as a person starts it: in a process of its own, which says where to look.
import { once } from "node:events";
import { fork } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";

test("the program says where the service and the page are, and the password", async () => {
  const env = { ...process.env, PORT: "0", ADMIN_PORT: "0", ADMIN_PASSWORD: undefined, REDIS_URL: undefined };
  const program = fork("examples/admin/main.ts", { execArgv: ["--import", "tsx"], env, silent: true });
  onTestFinished(() => void program.kill());
  const lines: string[] = [];
  const output = createInterface({ input: program.stdout as NodeJS.ReadableStream }).on("line", (line) => void lines.push(line));
  while (lines.length < 2) await once(output, "line");
  const [, service = ""] = /^The service: curl -i (\S+)\/inbox -H 'Authorization: Bearer token-of-bob'$/.exec(lines[0] ?? "") ?? [];
  const [, page = ""] = /^The page: +(\S+), as ann with the password [\w-]{16}$/.exec(lines[1] ?? "") ?? [];
  expect((await fetch(`${service}/inbox`, { headers: { Authorization: "Bearer token-of-bob" } })).status).toBe(200);
  expect((await fetch(page)).headers.get("content-type")).toContain("text/html");
});
