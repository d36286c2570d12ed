import { vi } from "vitest";

/** What `make` makes where requests share no work (law L15), as on Cloudflare Workers: a Redis store sends each call apart. */
export function unshared<T>(make: () => T): T {
  vi.stubGlobal("EdgeRuntime", "edge-runtime");
  try {
    return make();
  } finally {
    vi.unstubAllGlobals();
  }
}
