// Shortens Lua in template literals marked `/* lua */` for publication: removes comments and indentation, and shortens
// names. The build and the tests both use this, so the tests of Redis run the published text.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "../src");
const MARKED = /(?<=\/\* lua \*\/ `)[^`]*(?=`)/g;
const INTERPOLATION = /(\$\{[^}]*\})/;

/** Names that must stay: Lua's keywords and libraries, the names that Redis gives to a script, and those in its arguments. */
const GIVEN = new Set(
  ("and break do else elseif end false for function if in local nil not or repeat return then true until while " +
    "ARGV KEYS _ redis call pcall struct pack unpack string byte err find format gmatch match sub math ceil floor max min table insert remove pairs type tonumber " +
    "cjson decode kind fullMs since backTo dueFrom dueBefore due dueAfter step moved movedTo").split(" "),
);
const TOKEN = /^#!.*|--.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*|\d[\w.]*|\s*\n\s*|[^\S\n]+|[^]/gm;
const IS_NAME = /^[A-Za-z_]/;

/** Returns `lua` without comments and unneeded spaces, with its names replaced by those in `short`. */
export function minifyLua(lua, short = new Map()) {
  let out = "";
  let gap = "";
  for (const token of lua.match(TOKEN) ?? []) {
    if (token.startsWith("--")) continue;
    if (token.trim() === "") {
      gap = gap === "\n" || token.includes("\n") ? "\n" : " ";
      continue;
    }
    const written = short.get(token) ?? token;
    // Line breaks stay, because Redis names the line in an error. Without the space, two words would become one, `1 ..`
    // would be a broken number, and `- -` a comment.
    if (gap === "\n" || (gap === " " && /\w \w|\d \.|- -/.test(`${out.slice(-1)} ${written[0]}`))) out += gap;
    out += written;
    gap = "";
  }
  return out.trimStart();
}

/**
 * A short name for each name that the scripts declare. It is the same in all scripts, and the shortest names go to the
 * most frequent ones.
 */
export function shortNames(scripts) {
  const counts = new Map();
  for (const token of scripts.flatMap((lua) => lua.match(TOKEN) ?? [])) {
    if (IS_NAME.test(token) && !GIVEN.has(token)) counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  const names = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".split("");
  const short = [...letters, ...letters.flatMap((a) => letters.map((b) => a + b))].filter((name) => !GIVEN.has(name));
  return new Map(names.map((name, i) => [name, short[i]]));
}

/** The source files with marked Lua, minified. */
function minifiedSources() {
  const files = readdirSync(SOURCES, { recursive: true, encoding: "utf8" }).map((name) => join(SOURCES, name)).filter((name) => name.endsWith(".ts"));
  const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]).filter(([, text]) => text.search(MARKED) >= 0));
  const short = shortNames([...texts.values()].flatMap((text) => text.match(MARKED)).flatMap((lua) => lua.split(INTERPOLATION).filter((_, i) => i % 2 === 0)));
  const minify = (lua) => lua.split(INTERPOLATION).map((part, i) => (i % 2 === 0 ? minifyLua(part, short) : `\n${part}\n`)).join("").trim();
  return new Map([...texts].map(([file, text]) => [file, text.replace(MARKED, minify)]));
}

/** For esbuild and tsup. */
export const luaInBuild = {
  name: "minify-lua",
  setup(build) {
    const minified = minifiedSources();
    build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => (minified.has(path) ? { contents: minified.get(path), loader: "ts" } : undefined));
  },
};

/** For Vite and vitest. */
export function luaInTests() {
  const minified = minifiedSources();
  return { name: "minify-lua", enforce: "pre", transform: (_code, id) => minified.get(id.split("?")[0]) };
}
