// In the services project: one type-check of everything takes longer than any other test that needs no service.
import { expect, test } from "vitest";
import { complaints } from "./helpers/docs-compile.js";
import { preludeOf } from "./helpers/docs-preludes.js";
import { pastedRows } from "./helpers/readme-rows.js";
import { examples, fencesOf, pages, type Fence } from "./helpers/docs-read.js";

// One program holds all snippets and this mistake, so that only its line may be named.
const wrong: Fence = { file: "planted.md", line: 7, language: "ts", mark: "", argument: "", text: "const a = 1;\nconst b: string = a;" };

test("every snippet and every docstring example compiles", { timeout: 240_000 }, async () => {
  // A part of an example's file is compiled with that file, and so is a file that imports others of its folder.
  const isCompiled = ({ mark, text }: Fence): boolean => mark === "part" || (mark === "file" && /from "\.\//.test(text));
  const snippets = [...[...pages(), "skills/sluice/SKILL.md"].flatMap(fencesOf).filter((fence) => fence.language === "ts" && !isCompiled(fence)), ...examples(), wrong];
  expect(snippets.length).toBeGreaterThan(40);
  expect(complaints(await Promise.all(snippets.map(async (fence) => ({ fence, prelude: await preludeOf(fence) }))))).toEqual([
    "planted.md:8 Type 'number' is not assignable to type 'string'.",
  ]);
});

test("the README's first sample compiles in an empty file: nothing before it, and no other snippet beside it", { timeout: 240_000 }, () => {
  const [sample] = fencesOf("README.md").filter(({ language }) => language === "ts") as [Fence];
  expect(sample).toMatchObject({ language: "ts", text: expect.stringContaining("rateLimit({") as string });
  expect(complaints([{ fence: sample, prelude: null }])).toEqual([]);
  const broken = { ...sample, text: sample.text.replace("const app = express();", "") };
  expect(complaints([{ fence: broken, prelude: null }])[0]).toMatch(/^README\.md:\d+ Cannot find name 'app'\.$/);
});

test("each row of the README compiles in its first sample, with a session's user for signed-in users alone", { timeout: 240_000 }, () => {
  const [sample] = fencesOf("README.md").filter(({ language }) => language === "ts") as [Fence];
  const rows = [...pastedRows()].map(([row, text]) => ({ row, fence: { ...sample, file: row, text } }));
  expect(complaints(rows.map(({ fence }) => ({ fence, prelude: null })))).toEqual([expect.stringMatching(/^signed-in users:\d+ Property 'user' does not exist/)]);
  const user = "declare global { namespace Express { interface Request { user?: { id: string } } } }";
  expect(complaints(rows.map(({ fence }) => ({ fence, prelude: user })))).toEqual([]);
});
