import { expect, test } from "vitest";
import { tellOutage } from "../../examples/outage/main.js";
import { describeWith } from "../helpers/services.js";

describeWith("redis-server", "the example of an outage", () => {
  test("tells of a share, then of 503s, of one outage, and of a store that is available again", async () => {
    const lines: string[] = [];
    await tellOutage((line) => void lines.push(line), process.env["SLUICE_REDIS_SERVER"]);
    expect(lines.slice(0, 5)).toEqual([
      "up: yes",
      "stopped: yes, decided here: ERR_STORE_TIMEOUT",
      "stopped: yes, decided here: ERR_STORE_TIMEOUT",
      "the store is unavailable",
      "stopped: yes, decided here: ERR_STORE_TIMEOUT",
    ]);
    expect(lines[5]).toMatch(/^stopped: yes, decided here: ERR_STORE_(OPEN|TIMEOUT)$/);
    // On a slow machine one of them may be the probe of its second.
    for (const line of lines.slice(6, 8)) expect(line).toMatch(/^stopped: no, store_unavailable, decided here: ERR_STORE_(OPEN|TIMEOUT)$/);
    expect(lines.slice(-2)).toEqual(["the store is available", "up again: yes"]);
  });
});
