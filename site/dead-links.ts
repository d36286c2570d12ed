// Reads the built site and follows every link in it: to a page, to a heading, to a file of the repository.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { ROOT, targetOf } from "./links.js";

/** The links and sources in `folder` that lead nowhere, each as "page -> link". `base` is the path that the site is published under. */
export function deadLinks(folder: string, base: string): string[] {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/")).filter((file) => file.endsWith(".html"));
  const html = new Map(pages.map((page) => [page, readFileSync(join(folder, page), "utf8")] as const));
  const anchors = new Map([...html].map(([page, text]) => [page, new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => decode(id as string)))] as const));

  const isDead = (page: string, link: string): boolean => {
    if (/^https?:/.test(link)) {
      const target = targetOf(link, "");
      return target !== null && !existsSync(join(ROOT, target.path));
    }
    if (/^(?:data|mailto):/.test(link)) return false;
    const [path = "", anchor = ""] = link.split("#");
    if (path.startsWith("/") && !path.startsWith(base)) return true;
    const target = decodeURI(path === "" ? page : path.startsWith("/") ? path.slice(base.length) : join(dirname(page), path));
    const file = target === "" || target.endsWith("/") ? `${target}index.html` : target;
    if (!html.has(file)) return !existsSync(join(folder, file));
    return anchor !== "" && !anchors.get(file)?.has(decodeURIComponent(anchor));
  };

  return [...html].flatMap(([page, text]) => {
    const links = new Set([...text.matchAll(/<(?:a|img|link|script|source)\b[^>]*?\s(?:href|src|srcset)="([^"]+)"/g)].map(([, link]) => decode(link as string)));
    return [...links].filter((link) => isDead(page, link)).map((link) => `${page} -> ${link}`);
  });
}

const decode = (text: string): string => text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
