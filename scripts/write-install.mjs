// `node scripts/write-install.mjs`: writes `npm install sluice` in the pages as the version in package.json needs it.
// `npm run version-packages` runs it. A candidate is under the tag `next` of npm.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What follows `npm install` for a version. */
export const packageFor = (version) => (version.includes("-") ? "sluice@next" : "sluice");

/** The pages, by their path, as a version needs them. Only a line that begins with the command changes. */
export function installPages(version) {
  const docs = readdirSync(`${ROOT}docs`, { recursive: true }).map((path) => `docs/${path.replaceAll("\\", "/")}`);
  return ["README.md", ...docs.filter((path) => path.endsWith(".md"))].map((path) => {
    const now = readFileSync(ROOT + path, "utf8");
    return { path, now, needed: now.replace(/^npm install sluice(?:@next)?(?= |$)/gm, `npm install ${packageFor(version)}`) };
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8"));
  for (const { path, now, needed } of installPages(version)) if (now !== needed) writeFileSync(ROOT + path, needed);
}
