// What `npm publish` is told: which file, which tag, and provenance only where a workflow has an identity.
import { expect, test } from "vitest";
import { publishArguments, tagOf } from "../../scripts/publish-arguments.mjs";

const file = "/packed/sluice.tgz";
const inWorkflow = { ACTIONS_ID_TOKEN_REQUEST_URL: "https://token.example" };

test.each([
  ["1.0.0-rc.1", "next"], ["2.0.0-beta.0", "next"], ["1.0.0", "latest"], ["1.10.2", "latest"],
] as const)("%s gets the tag %s", (version, tag) => {
  expect(tagOf(version)).toBe(tag);
  expect(publishArguments({ file, version, isRehearsal: false, env: {} })).toEqual(["publish", file, "--access", "public", "--tag", tag]);
});

test("a workflow with an identity adds provenance, and nothing else does", () => {
  const told = (env: Record<string, string>) => publishArguments({ file, version: "1.0.0", isRehearsal: false, env }).includes("--provenance");
  expect([told(inWorkflow), told({}), told({ CI: "true" }), told({ ACTIONS_ID_TOKEN_REQUEST_URL: "" })]).toEqual([true, false, false, false]);
});

test("a rehearsal names the same file, and publishes nothing", () => {
  const args = publishArguments({ file, version: "1.0.0", isRehearsal: true, env: inWorkflow });
  expect(args).toEqual(["publish", file, "--access", "public", "--tag", "latest", "--dry-run", "--force"]);
});
