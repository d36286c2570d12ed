// The pages as text for programs that read: each as `.md`, a list of them in `llms.txt`, and the guides in `llms-full.txt`.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { withoutHovers } from "./hover-pages.js";
import { dirname, join } from "node:path/posix";

/** A part of the list: a heading, and the places of its pages. */
export interface TextPart {
  readonly text: string;
  readonly places: readonly string[];
}

const SUMMARY = "A rate limiter for JavaScript servers. A refused caller learns exactly how long to wait. Token buckets and quotas, Express, Fastify, Hono, NestJS, Next.js, Node and web-standard servers, files to copy for Koa, h3, Elysia, Nuxt, Nitro, SvelteKit, React Router, Server Actions, tRPC, GraphQL, better-auth, BullMQ and MCP, Redis, Postgres, and a client that obeys.";

/** A page without what only the site's build reads. */
export function plainText(page: string): string {
  return withoutHovers(page)
    .replace(/^---\n[^]*?\n---\n+/, "")
    .replace(/^<script setup>[^]*?^<\/script>\n+/m, "")
    .replace(/^<!-- docs: .* -->\n/gm, "")
    .replace(/^::: code-group\n|^:::$\n?/gm, "")
    .replace(/^```(\w+) \[(.+)\]$/gm, "$2:\n\n```$1");
}

/** The title of a page, and the first sentence under it. */
export function headOf(text: string): { readonly title: string; readonly sentence: string } {
  const [, title = ""] = /^# (.+)$/m.exec(text) ?? [];
  const paragraph = text.slice(text.indexOf(`# ${title}`) + title.length + 2).split(/\n\n+/).map((each) => each.trim()).find((each) => /^[A-Za-z*[`]/.test(each)) ?? "";
  const plain = paragraph.replaceAll("\n", " ").replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replaceAll("**", "");
  return { title: title.replace(/[\\`]/g, ""), sentence: (/^.*?[.:](?= |$)/.exec(plain)?.[0] ?? plain).replace(/:$/, ".") };
}

/**
 * Writes the files into the built site. `pages` is the folder of the pages, `base` the path that the site is published under. `own` are the texts of
 * pages that are no Markdown, by their places.
 */
export function writeTexts(pages: string, out: string, base: string, parts: readonly TextPart[], own: ReadonlyMap<string, string> = new Map()): void {
  const write = (place: string, text: string): void => {
    mkdirSync(dirname(join(out, place)), { recursive: true });
    writeFileSync(join(out, place), text);
  };
  const textOf = (place: string): string => plainText(own.get(place) ?? readFileSync(join(pages, place), "utf8"));
  const lists = parts.map(({ text: heading, places }) => {
    const lines = places.map((place) => {
      const text = textOf(place);
      write(place, text);
      const { title, sentence } = headOf(text);
      return `- [${title}](${base}${place})${sentence === "" ? "" : `: ${sentence}`}`;
    });
    return `## ${heading}\n\n${lines.join("\n")}\n`;
  });
  write("llms.txt", `# sluice\n\n> ${SUMMARY}\n\nEach page of this site is also here as Markdown: replace \`.html\` by \`.md\`. All guides in one file: ${base}llms-full.txt\n\n${lists.join("\n")}`);
  const guides = parts.filter(({ text }) => !/^(?:API|Examples|Project|For maintainers)/.test(text)).flatMap(({ places }) => places);
  write("llms-full.txt", `# sluice\n\n> ${SUMMARY}\n\n${guides.map((place) => `<!-- ${base}${place} -->\n\n${textOf(place)}`).join("\n\n")}`);
}
