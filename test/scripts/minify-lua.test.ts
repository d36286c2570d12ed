import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { minifyLua, shortNames } from "../../scripts/minify-lua.mjs";
import { fullScript } from "../../src/stores/redis/script.js";

test("comments and indentation go, line breaks stay, and a shebang stays whole", () => {
  const lua = "#!lua flags=allow-cross-slot-keys\n-- Why.\nlocal  a = 1 -- one\n\n  if a == 1 then\n    return a\n  end\n";
  expect(minifyLua(lua)).toBe("#!lua flags=allow-cross-slot-keys\nlocal a=1\nif a==1 then\nreturn a\nend");
});

test("a space stays where two tokens would become one", () => {
  expect(minifyLua("return 1 .. x")).toBe("return 1 ..x");
  expect(minifyLua("return a - -b, not c")).toBe("return a- -b,not c");
  expect(minifyLua("return #value + #name")).toBe("return#value+#name");
});

test("names become short, the same everywhere, but not in text, and not what Lua and Redis name", () => {
  const lua = "local limit, call = { size = tonumber(ARGV[1]) }, redis.call\nreturn call('limit', limit.size, '-- size')";
  const short = shortNames([lua]);
  expect([...short.keys()].sort()).toEqual(["limit", "size"]);
  const [limit, size] = [short.get("limit"), short.get("size")];
  expect(minifyLua(lua, short)).toBe(`local ${limit},call={${size}=tonumber(ARGV[1])},redis.call\nreturn call('limit',${limit}.${size},'-- size')`);
});

test("no two names become one, and none becomes a word of Lua", () => {
  const short = shortNames([Array.from({ length: 400 }, (_, i) => `name${i}`).join(" ")]);
  expect(new Set(short.values()).size).toBe(400);
  for (const word of ["do", "if", "in", "or"]) expect([...short.values()]).not.toContain(word);
});

test("the scripts name nothing without declaring it, apart from what Lua and Redis give", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const scripts = files.flatMap((name) => readFileSync(`src/${name}`, "utf8").match(/(?<=\/\* lua \*\/ `)[^`]*(?=`)/g) ?? []);
  expect(scripts.length).toBe(6);
  const all = scripts.map((lua) => minifyLua(lua.replace(/\$\{[^}]*\}/g, ""))).join("\n");
  const given = (name: string): RegExp => new RegExp(`\\blocal [\\w,]*\\b${name}\\b|[({,]${name}[,)=]|\\.${name}[,=]|\\b(?:for|function) ${name}\\b`);
  expect([...shortNames([all.replace(/^#!.*/gm, "")]).keys()].filter((name) => !given(name).test(all))).toEqual([]);
});

test("the tests run the published text", () => {
  expect(fullScript()).not.toMatch(/--|^ |serverClock/m);
});
