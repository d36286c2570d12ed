// The key of each sample and each file to copy, typed as `npx sluice` takes it, reaches the bucket that the sample charges.
// What a request says stands in the key as a number, an address of a mailbox, a telephone number, an id and a text with a blank.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { addressKey, createLimiter, perDay, type Key, type KeyPart } from "sluice";
import { afterAll, expect, test } from "vitest";
import { runCommand } from "../../src/command/run-command.js";
import { shapesOf, type Part, type Shape } from "./key-shapes.js";
import { files, snippets } from "./rows.js";

const SAID = ["42", "ann@shop.example", "+442079460000", "3fa85f64-5717-4562-b3fc-2c963f66afa6", "Ann Lee", "net/24", "203.0.113.7", "ada,bob", "user:42", "-1"];
const ADDRESSES = ["203.0.113.7", "2001:db8:1:2:aaaa::1", "::ffff:203.0.113.7"];

/** The rows by the shapes of their keys. Code of other libraries has keys of its own. */
const rowsBy = new Map<string, string[]>();
for (const row of [...snippets, ...files].filter(({ text, name }) => / from "sluice|\.\/limits\.js"/.test(text) && !/-?before\.ts$|^examples\/server\/demo\/page/.test(name))) {
  for (const shape of shapesOf(row)) {
    const text = JSON.stringify(shape === undefined ? "given" : shape);
    rowsBy.set(text, [...(rowsBy.get(text) ?? []), row.name]);
  }
}

const folder = mkdtempSync(join(tmpdir(), "sluice-keys-"));
const limits = join(folder, "limits.mjs");
const shared = globalThis as unknown as { keyed?: unknown };
shared.keyed = createLimiter({ policy: { name: "keyed", capacity: 10, refill: perDay(10) } });
const keyed = shared.keyed as ReturnType<typeof createLimiter>;
writeFileSync(limits, "export const { keyed } = globalThis;\n");
afterAll(() => {
  delete shared.keyed;
  rmSync(folder, { recursive: true });
});

/** A part as the sample writes it, and as an operator types it. */
function fill(part: Part, said: string, address: string): { readonly part: KeyPart; readonly typed: string; readonly prefix?: number } {
  if (part === null) return { part: said, typed: said };
  if (typeof part === "string") return { part, typed: part };
  return { part: addressKey(address, { ipv6Prefix: part.prefix })?.[1] as string, typed: address, prefix: part.prefix };
}

/** Resets a key over the command. Returns what was left to the caller before and is now, and what the command said. */
async function reset(key: Key, typed: readonly string[], options: readonly string[]): Promise<{ readonly before: number; readonly now: number; readonly said: string }> {
  await keyed.reset(key);
  await keyed.consume(key, 3);
  let said = "";
  const output = new Writable({ write: (chunk, _, done) => ((said += String(chunk)), done()) });
  await runCommand(["reset", limits, "keyed", "--memory", "--json", ...options, "--", ...typed], { stdout: output, stderr: output });
  const { before } = JSON.parse(said.startsWith("{") ? said : '{ "before": {} }') as { before: { remaining: number } };
  return { before: before.remaining, now: (await keyed.peek(key)).remaining, said };
}

test.each([...rowsBy].filter(([shape]) => shape !== '"given"' && shape !== '""'))("%s", async (text, rows) => {
  const shape = JSON.parse(text) as Exclude<Shape, undefined>;
  for (const said of SAID) for (const address of ADDRESSES) {
    const parts = (Array.isArray(shape) ? shape : [shape]).map((part) => fill(part as Part, said, address));
    const key = Array.isArray(shape) ? (parts.map(({ part }) => part) as [KeyPart, ...KeyPart[]]) : String(parts[0]?.part);
    const prefix = parts.find((part) => part.prefix !== undefined)?.prefix;
    const typed = parts.length === 1 && Array.isArray(shape) ? [JSON.stringify(key)] : parts.map((part) => part.typed);
    const answer = await reset(key, typed, prefix === undefined || (prefix === 64 && key[0] === "address") ? [] : ["--ipv6-prefix", String(prefix)]);
    expect(answer, `${typed.join(" ")} for ${rows[0] ?? ""}`).toMatchObject({ before: 7, now: 10 });
  }
});

// A new shape is tested above as well. "given" is a key that a function of the sample gets.
test("the shapes are read from the rows", () => {
  expect(rowsBy.get('["address",{"prefix":56}]')?.length).toBeGreaterThan(10);
  expect([...rowsBy.keys()].sort()).toMatchInlineSnapshot(`
    [
      """",
      ""ada"",
      ""all"",
      ""ann"",
      ""blocked"",
      ""given"",
      ""mail.example"",
      ""service"",
      ""supplier.example"",
      ""unknown"",
      ""user:42"",
      "["account",null]",
      "["address",{"prefix":56}]",
      "["address",{"prefix":64}]",
      "["agent","stdio",null]",
      "["agent","stdio"]",
      "["agent",null,null]",
      "["agent",null]",
      "["browser",null,null]",
      "["customer",null]",
      "["network",null,{"prefix":56}]",
      "["network",{"prefix":56}]",
      "["phone",null]",
      "["tenant","acme"]",
      "["tenant",null]",
      "["user","42"]",
      "["user","ann"]",
      "["user","nobody"]",
      "["user",null,null,null]",
      "["user",null,null]",
      "["user",null]",
      "[null,null,null]",
      "[null,null]",
      "null",
    ]
  `);
});
