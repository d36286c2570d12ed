// The whole HTTP contract, over real sockets, for one framework in each file. So the files run side by side.
import { adapterSuite } from "sluice/testing";
import { beforeEach, describe, expect, test } from "vitest";
import { expectWarnings } from "../../setup/warnings.js";
import { rows, type Row } from "../rows/index.js";
import { oneToken } from "../setup.js";

/** The warnings that cases cause, by their titles. The adapter for Node warns of errors too, as it has no error handler. */
const WARNINGS: readonly [title: RegExp, onNode: boolean, warnings: readonly string[]][] = [
  [/^33 · requests without a key share one bucket/, false, ["SLUICE_UNIDENTIFIED"]],
  [/^38 · .* and so is the 101st at once$/, false, ["SLUICE_PREFLIGHTS", "SLUICE_UNIDENTIFIED"]],
  [/^an? `(onDecision|actualCost|unidentified|respond)` function that fails/, false, ["SLUICE_FUNCTION_FAILED"]],
  [/^a `respond` function that (sends an informational status|returns (an object that JSON cannot hold|an informational|a network|a Response|one Response))/, false, ["SLUICE_FUNCTION_FAILED"]],
  [/^a `(key|cost|policy|skip|partitionKey)` function that fails/, true, ["Error: fault", "SluiceError: Expected", "TypeError: "]],
  [/^a `(cost|partitionKey)` function that fails/, true, ["RangeError: Expected"]],
  [/^a store whose clock contradicts/, true, ["Error: fault"]],
  [/^a store without a guard that throws undefined/, true, ["SluiceError: Expected"]],
  [/^a hook on `\w+` that throws/, true, ["Error: hook", "SluiceError: Expected"]],
];

/** Tests that a row of this name is what it says, and keeps the contract. */
export function proveRow(name: string): void {
  const { loaded, serve, lacks = {} } = rows.find((row) => row.name === name) as Row;

  describe(name, () => {
    beforeEach(({ task }) => expectWarnings(...WARNINGS.filter(([title, onNode]) => title.test(task.name) && (!onNode || name === "Node")).flatMap(([, , warnings]) => warnings)));

    test("is the version that its name says, and answers", async () => {
      const [, framework, major] = /^(\w+) (\d)$/.exec(name) ?? [];
      if (framework !== undefined) expect(loaded).toMatch(new RegExp(`^${framework} ${major}\\.`, "i"));

      const limit = oneToken();
      const options = () => ({ ...limit, key: () => "anybody" });
      const server = await serve({ options, bulk: options, answer: null, answerUnidentified: null, reports: () => {}, entered: () => {}, held: () => Promise.resolve() });
      const { status, headers } = await fetch(`http://127.0.0.1:${server.port}/ok`, { headers: { Connection: "close" } });
      await server.close();
      expect([status, headers.get("RateLimit-Remaining")]).toEqual([200, "0"]);
    });

    adapterSuite({ test, serve, lacks });
  });
}
