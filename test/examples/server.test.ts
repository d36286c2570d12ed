// The example server on every framework.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { ExampleServer, FRAMEWORKS } from "./example-server.js";
import { walk } from "./walk.js";

walk(
  FRAMEWORKS.map((framework) => ({
    title: `${framework}, memory`,
    start: () => ExampleServer.start(["--framework", framework]),
  })),
);

test.each(FRAMEWORKS)("%s: one command shows a store that fails: the process's share, a 503, and then the store answers again", async (framework) => {
  const server = await ExampleServer.start(["--framework", framework]);
  try {
    const command = server.lines.find((line) => line.includes("/live/outage")) as string;
    const { stdout } = await promisify(execFile)("sh", ["-c", command]);
    expect(stdout.match(/^HTTP\/1\.1 \d+/gm)).toEqual(["HTTP/1.1 202", "HTTP/1.1 503"]);
    expect(stdout).toMatch(/^retry-after: \d+\r$/im);
    expect(stdout).toContain('"code":"temporarily_unavailable"');
    expect(stdout).toContain('{"isOut":false}');
  } finally {
    server.kill();
  }
});
