/** The page's files. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/style.css": ["style.css", "text/css; charset=utf-8"],
};

/** The file of a path: its type and its content. Undefined if there is none. */
export async function pageFile(path: string): Promise<{ readonly type: string; readonly content: string } | undefined> {
  if (path === "/page.js") return { type: "text/javascript; charset=utf-8", content: await pageScript() };
  if (!Object.hasOwn(FILES, path)) return undefined;
  const [file, type] = FILES[path] as readonly [string, string];
  return { type, content: readFileSync(new URL(file, pageFolder()), "utf8") };
}

let script: Promise<string> | undefined;

/** The page's program. TypeScript becomes one file for the browser when the page is opened for the first time. */
function pageScript(): Promise<string> {
  return (script ??= (async () => {
    const { build } = await import("esbuild");
    const { outputFiles } = await build({ entryPoints: [fileURLToPath(new URL("page.ts", pageFolder()))], bundle: true, write: false, format: "esm", target: "es2022" });
    return (outputFiles[0] as { text: string }).text;
  })());
}

/** The folder of the page's files: beside this program, or, if it was bundled into another folder, in this repository. */
function pageFolder(): URL {
  const here = new URL("page/", import.meta.url);
  return existsSync(new URL("index.html", here)) ? here : new URL("examples/admin/page/", pathToFileURL(`${process.cwd()}/`));
}
