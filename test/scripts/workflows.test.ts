// The workflows on GitHub: what they may do, and which code of others they run.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";
import { WORLDS } from "../search/worlds.js";

const folder = join(ROOT, ".github/workflows");
const files = readdirSync(folder);
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

describe.each(files)("%s", (name) => {
  const text = read(name);

  test("runs actions of others by commit, with the tag beside it", () => {
    for (const [, action] of text.matchAll(/uses: (?!\.\/)(.+)/g)) expect(action).toMatch(/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
  });

  test("has no rights but those that a job names, and no token of npm", () => {
    expect(text).toMatch(/^permissions:( \{\}|\n {2}contents: read)$/m);
    expect(text).not.toMatch(/NPM_TOKEN|NODE_AUTH_TOKEN/);
  });
});

test("one commit stands for one action", () => {
  const used = files.flatMap((name) => [...read(name).matchAll(/uses: ([\w./-]+)@([0-9a-f]{40})/g)].map(([, action, commit]) => [action, commit] as const));
  for (const [action, commit] of used) expect(used.filter(([other]) => other === action).every(([, other]) => other === commit)).toBe(true);
});

test("only the job that publishes has an identity, and it installs nothing", () => {
  const [, publish = ""] = /^ {2}publish:\n([^]*?)^ {2}\w+:/m.exec(read("release.yml")) ?? [];
  expect(publish).toContain("id-token: write");
  expect(publish).not.toMatch(/npm (ci|install)/);
  expect(read("release.yml").match(/id-token: write/g)).toHaveLength(1);
});

test("each world is searched each night", () => {
  const listed = [...read("nightly.yml").matchAll(/^ {10}- (.+)$/gm)].map(([, world]) => world);
  expect(listed).toEqual(WORLDS.map(({ name }) => name));
});
