/** The cure for a wrong header style, as the rest of a sentence. Empty for an unknown name. */
export function cureForStyle(style: unknown): string {
  if (typeof style !== "string") {
    return '. For names of your own: import { vendorHeaders } from "sluice/http"; headers: [vendorHeaders({ limit: "X-Limit" })]';
  }
  if (!Object.hasOwn(IMPORTED, style)) return "";
  const value = IMPORTED[style] as string;
  return `. Write: import { ${value} } from "sluice/http"; headers: [${value}]`;
}

const IMPORTED: Readonly<Record<string, string>> = { "draft-6": "draft6", "draft-7": "draft7", "x-ratelimit": "xRateLimit" };
