/** Which runtime this program is in. */
export const runtime = ((): "node" | "bun" | "deno" | "browser" | "workerd" => {
  if ("Deno" in globalThis) return "deno";
  if ("Bun" in globalThis) return "bun";
  if ("document" in globalThis) return "browser";
  return globalThis.navigator?.userAgent === "Cloudflare-Workers" ? "workerd" : "node";
})();
