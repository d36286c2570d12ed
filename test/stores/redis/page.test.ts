import { expect, test } from "vitest";
import { printed } from "../../helpers/docs-run.js";
import { fencesOf } from "../../helpers/docs-read.js";
import { describeWith, redisUrl } from "../../helpers/services.js";

describeWith("redis", "docs/stores/redis.md", () => {
  test("the snippet with a manual clock prints what the page says", async () => {
    const fences = fencesOf("docs/stores/redis.md");
    const at = fences.findIndex(({ text }) => text.includes("new ManualClock()"));
    const snippet = fences[at]?.text.replace("redis://127.0.0.1:6379", redisUrl()) ?? "";
    expect(await printed(snippet)).toBe(fences[at + 1]?.text);
  });
});
