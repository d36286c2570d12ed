import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { drawBucket } from "../docs/images/draw-bucket.js";
import { drawEdge, EDGE_SIZES } from "../docs/images/draw-edge.js";
import { drawKinds } from "../docs/images/draw-kinds.js";
import { drawLlm } from "../docs/images/draw-llm.js";
import { installPages, packageFor } from "../scripts/write-install.mjs";
import { answers, sameAnswer } from "./helpers/docs-answers.js";
import { anchorsOf, examples, fencesOf, linksOf, pages, ROOT, type Fence } from "./helpers/docs-read.js";
import { printed } from "./helpers/docs-run.js";

const fences = pages().flatMap(fencesOf);
const where = ({ file, line }: Fence) => `${file}:${line}`;

describe("snippets that show their output print it", () => {
  const shown = fences.flatMap((fence, i) => (fence.mark === "run" ? [{ fence, output: fences[i + 1] as Fence }] : []));
  test.each(shown.map((each) => [where(each.fence), each] as const))("%s", async (_, { fence, output }) => {
    expect(output).toMatchObject({ file: fence.file, language: "text" });
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers().setTimerTickMode("nextTimerAsync"); // a wait ends when nothing else is left to do, however slow the machine is
    expect(await printed(fence.text)).toBe(output.text);
  });
});

describe("answers that are quoted are real", () => {
  const quoted = fences.filter(({ mark }) => mark === "answer");
  test.each(quoted.map((fence) => [`${where(fence)} ${fence.argument}`, fence] as const))("%s", async (_, fence) => {
    const make = answers[fence.argument];
    expect(make, `an answer named ${fence.argument}`).toBeDefined();
    await sameAnswer(fence.text, await (make as () => Promise<Response>)());
  });

  test("every http block is one of them", () => {
    expect(fences.filter(({ language, mark }) => language === "http" && mark !== "answer").map(where)).toEqual([]);
  });
});

test("snippets that are an example's file are the same as it", () => {
  const copies = fences.filter(({ mark }) => mark === "file");
  expect(copies.filter(({ argument, text }) => readFileSync(join(ROOT, argument), "utf8").trim() !== text).map(where)).toEqual([]);
});

test("snippets that are a part of an example's file are in it, word for word", () => {
  const parts = fences.filter(({ mark }) => mark === "part");
  expect(parts.filter(({ argument, text }) => !readFileSync(join(ROOT, argument), "utf8").includes(text)).map(where)).toEqual([]);
});

/** The text of each sample, by its place. */
function samples(): (readonly [name: string, text: string])[] {
  const files = readdirSync(join(ROOT, "examples"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && !/node_modules|^hosts\/(?:test|nest-\d+|\.)|^server\/demo\/page\//.test(file));
  const programs = files.map((file) => [`examples/${file}`, readFileSync(join(ROOT, "examples", file), "utf8")] as const);
  const snippets = [...fences, ...examples()].filter(({ language }) => language === "ts").map((fence) => [where(fence), fence.text] as const);
  return [...programs, ...snippets];
}

test("no sample knows its caller by a header that the caller makes up", () => {
  const madeUp = samples().filter(([, text]) => /["'](?:x-[\w-]*(?:id|user|client|ip|for)|forwarded)["']/i.test(text));
  // Vercel overwrites the field of the sample for Next.js.
  // The contract of the example server asks for device ids; the file says what they are worth.
  expect(madeUp.map(([name]) => name)).toEqual(["examples/quick-start/next.ts", "examples/server/identity.ts"]);
});

test("a sample in which callers name the account shows them no budget of it", () => {
  const naming = samples().filter(([, text]) => /rateLimit/.test(text) && /\["(?:phone|account|network)",|codeReceiver/.test(text));
  expect(naming.length).toBeGreaterThan(14);
  const telling = naming.filter(([, text]) => !/headers: \[\]|QUIET/.test(text));
  // The first draws the bucket that you choose. The second proves the account by an API key.
  expect(telling.map(([name]) => name)).toEqual(["examples/server/demo/live.ts", expect.stringContaining("docs/guides/recipes.md")]);
});

test("each Redis client of a sample has a listener for errors, and calls that end", () => {
  const clients = samples().filter(([, text]) => text.includes("new Redis("));
  expect(clients.length).toBeGreaterThan(8);
  const bare = clients.filter(([, text]) => !/\.on\("error"/.test(text) || !/new Redis\([^;]*maxRetriesPerRequest: 1/.test(text) || !text.includes("commandTimeout: 10_000"));
  expect(bare.map(([name]) => name)).toEqual([]);
});

test("marks are known and in their place", () => {
  const languages: Readonly<Record<string, readonly string[]>> = { run: ["ts"], with: ["ts"], file: ["ts"], part: ["ts", "tsx", "html"], answer: ["http"], command: ["sh"] };
  expect(fences.filter(({ mark, language }) => mark !== "" && !languages[mark]?.includes(language)).map(where)).toEqual([]);
});

test("links lead somewhere", () => {
  const dead = pages().flatMap((page) =>
    linksOf(page).flatMap((link) => {
      const [path, anchor] = link.split("#") as [string, string | undefined];
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, target))) return [`${page} -> ${link}`];
      return anchor === undefined || anchorsOf(target).has(anchor) ? [] : [`${page} -> ${link} (no such heading)`];
    }),
  );
  expect(dead).toEqual([]);
});

test.each(["README.md", "simulate/README.md"])("the links of %s work on the registry's page: none is relative", (page) => {
  const links = [...readFileSync(join(ROOT, page), "utf8").matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)].map(([, link, source]) => link ?? source);
  expect(links.filter((link) => !/^(?:https:|#)/.test(link as string))).toEqual([]);
});

test("the README names both commands of a fresh machine under one heading", () => {
  const sections = readFileSync(join(ROOT, "README.md"), "utf8").split(/^## /m);
  const ofCommand = (command: string) => sections.findIndex((section) => section.includes(`\n${command} `));
  expect(ofCommand("npm ci && npm start")).toBeGreaterThan(0);
  expect(ofCommand("npm ci && npm test")).toBe(ofCommand("npm ci && npm start"));
});

test("the README is read in a sitting: at most 110 lines", () => {
  expect(readFileSync(join(ROOT, "README.md"), "utf8").match(/\n/g)?.length).toBeLessThanOrEqual(110);
});

test("pages install the version of package.json: a candidate by its tag", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
  const pagesNow = installPages(version);
  expect(pagesNow.filter(({ now, needed }) => now !== needed).map(({ path }) => path)).toEqual([]);
  expect([packageFor("1.0.0-rc.1"), packageFor("1.0.0")]).toEqual(["sluice@next", "sluice"]);
  for (const other of ["1.0.0-rc.1", "1.0.0"]) {
    const readme = installPages(other).find(({ path }) => path === "README.md")?.needed;
    expect(readme).toContain(`\nnpm install ${packageFor(other)} express\n`);
  }
});

test("what users read has no gaps that somebody wanted to fill, and no version before the first", () => {
  for (const page of [...pages(), "README.md", "CHANGELOG.md", "package.json", "skills/sluice/SKILL.md", "site/home.ts"]) {
    expect(readFileSync(join(ROOT, page), "utf8"), page).not.toMatch(/\bTODO\b|\bnot yet\b|(?<![\d.])0\.0\.0(?![\d.])/);
  }
});

test("the README and the pages leave a user's package.json as it is", () => {
  for (const page of pages()) expect(readFileSync(join(ROOT, page), "utf8"), page).not.toMatch(/npm pkg set/);
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).not.toMatch(/npm pkg|type=module|"module"/);
});

test("every page that a message names exists, with its heading", () => {
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts")).map((file) => readFileSync(join(ROOT, "src", file), "utf8"));
  const codes = new Set(sources.flatMap((text) => [...text.matchAll(/"(SLUICE_[A-Z0-9_]+)"/g)].map(([, code]) => (code as string).toLowerCase())));
  const named = sources.flatMap((text) => [...text.matchAll(/\$\{DOCS\}\/([\w/-]+\.md)(?:#([\w-]+|\$\{code))?/g)].map(([, page, anchor]) => [`docs/${page}`, anchor] as const));
  const addresses = named.flatMap(([page, anchor]) => (anchor === "${code" ? [...codes] : [anchor]).map((each) => [page, each] as const));
  expect(addresses).toContainEqual(["docs/guides/warnings.md", "sluice_store_slow"]);
  expect(addresses.filter(([page, anchor]) => !existsSync(join(ROOT, page)) || (anchor !== undefined && !anchorsOf(page).has(anchor)))).toEqual([]);
});

test("every code of an error is explained", () => {
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const codes = new Set(sources.flatMap((file) => [...readFileSync(join(ROOT, "src", file), "utf8").matchAll(/"(ERR_\w*[A-Z])"/g)].map(([, code]) => code as string)));
  const explained = ["docs/guides/errors.md", "docs/guides/waiting.md"].map((page) => readFileSync(join(ROOT, page), "utf8")).join("\n");
  expect(codes.size).toBeGreaterThan(10);
  expect([...codes].filter((code) => !explained.includes(`\`${code}\``))).toEqual([]);
});

test("every table has a head, without which it is shown as text", () => {
  const headless = pages().flatMap((page) => [...readFileSync(join(ROOT, page), "utf8").matchAll(/\n\n(\|.*)\n(?!\| *:?---)/g)].map(([, row]) => `${page}: ${row}`));
  expect(headless).toEqual([]);
});

describe("the threat model", () => {
  const page = readFileSync(join(ROOT, "docs/security.md"), "utf8");
  const rows = [...page.matchAll(/^\| (?!attack |kept |---)(.+?) \| (.+) \| (.+) \|$/gm)].map(([, attack = "", , proof = ""]) => ({ attack, proof }));

  test("has attacks, each with a test", () => {
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter(({ proof }) => !/\]\(\.\.\//.test(proof))).toEqual([]);
  });

  test("names tests that exist, in their files", () => {
    const named = rows.flatMap(({ proof }) => [...proof.matchAll(/\[(.+?)\]\(\.\.\/(.+?)\)/g)].map(([, title = "", file = ""]) => ({ title, file })));
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(({ title, file }) => !existsSync(join(ROOT, file)) || !readFileSync(join(ROOT, file), "utf8").includes(title))).toEqual([]);
  });
});

test("every page can be reached from the front page", () => {
  const seen = new Set<string>(["README.md"]);
  for (const page of seen) {
    for (const link of linksOf(page)) {
      const target = join(dirname(page), link.split("#")[0] as string);
      if (target.endsWith(".md") && existsSync(join(ROOT, target))) seen.add(target);
    }
  }
  expect(pages().filter((page) => !seen.has(page))).toEqual([]);
});

test("commands that are shown exist", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
  const bench = JSON.parse(readFileSync(join(ROOT, "bench/package.json"), "utf8")) as { scripts: Record<string, string> };
  const shown = fences.flatMap((fence) => [...fence.text.matchAll(/npm run ([\w:-]+)( --prefix bench)?/g)].map((match) => [where(fence), ...match]));
  expect(shown.filter(([, , name, inBench]) => (inBench ? bench : { scripts }).scripts[name as string] === undefined)).toEqual([]);
});

test("the page of options has them all", () => {
  const optionsIn = (file: string, from: string): string[] => {
    const source = readFileSync(join(ROOT, file), "utf8");
    const start = source.indexOf(`interface ${from}`);
    return [...source.slice(start, from === "GuardOptions" ? source.indexOf("\n}\n", start) : undefined).matchAll(/^  readonly (\w+)\??:/gm)].map(([, name]) => name as string);
  };
  const written = [...optionsIn("src/http/options/options.ts", "OwnLimiter"), ...optionsIn("src/limiter/options.ts", "LimiterOptions"), ...optionsIn("src/port/guard-options.ts", "GuardOptions")];
  const listed = readFileSync(join(ROOT, "docs/options.md"), "utf8").matchAll(/^\| `(\w+)` \|/gm);
  expect(new Set([...listed].map(([, name]) => name))).toEqual(new Set(written));
});

test("the page of the client has all options of a client and of a call, and all members of its error", () => {
  const page = readFileSync(join(ROOT, "docs/client.md"), "utf8");
  const sectionOf = (heading: string) => new RegExp(`^## ${heading}\\n[^]*?(?=^## )`, "m").exec(page)?.[0] ?? "";
  const listed = (section: string) => [...section.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(([, names]) => (names as string).replaceAll("`", "").split(", "));
  const membersOf = (file: string, name: string) => {
    const [body = ""] = new RegExp(`(?:interface|class) ${name}\\b[^]*?^}`, "m").exec(readFileSync(join(ROOT, file), "utf8")) ?? [];
    return [...body.matchAll(/^  (?:declare )?readonly (\w+)/gm)].map(([, member]) => member as string);
  };
  const options = [...membersOf("src/client/fetch/options.ts", "ClientOptions"), ...membersOf("src/client/fetch/options.ts", "CallOptions")];
  expect(options).toContain("sensitive");
  expect(new Set(listed(sectionOf("Options")))).toEqual(new Set(options));
  expect(new Set(listed(sectionOf("Errors")))).toEqual(new Set([...membersOf("src/client/fetch/error.ts", "RateLimitedError"), "message"]));
});

test.each(Object.entries(EDGE_SIZES))("%s is what the bucket does, and its numbers are those that the comparison measured", (file, size) => {
  const picture = drawEdge(size);
  expect(readFileSync(join(ROOT, "docs/images", file), "utf8")).toBe(picture);
  const [, ours, theirs] = /^\| \*\*5 in 2 s\*\*: the most in 0\.25 s \| (\d+) \| (\d+) \|/m.exec(readFileSync(join(ROOT, "docs/comparison.md"), "utf8")) ?? [];
  // The second number of each is that of the picture's two seconds, both ends included.
  expect([...picture.matchAll(/class="number">(\d+)</g)].map(([, served]) => served)).toEqual([ours, "10", theirs, "10"]);
});

test("the pictures are what the limits and the settlements do", () => {
  expect(readFileSync(join(ROOT, "docs/images/kinds.svg"), "utf8")).toBe(drawKinds());
  expect(readFileSync(join(ROOT, "docs/images/bucket.svg"), "utf8")).toBe(drawBucket());
  expect(readFileSync(join(ROOT, "docs/images/llm-budget.svg"), "utf8")).toBe(drawLlm());
});
