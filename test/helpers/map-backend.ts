import type { CasBackend } from "sluice/store";

/** A Map that compares and sets, and counts its calls. `kept` may be changed behind the store's back. */
export function mapBackend() {
  const kept = new Map<string, string>();
  const calls = { reads: 0, writes: 0 };
  const backend: CasBackend<string> = {
    async read(key) {
      calls.reads += 1;
      const value = kept.get(key);
      return value === undefined ? null : { value, version: value };
    },
    async write(key, value, version) {
      calls.writes += 1;
      if ((kept.get(key) ?? null) !== version) return false;
      kept.set(key, value);
      return true;
    },
  };
  return { ...backend, kept, calls };
}

const away = (): Promise<never> => Promise.reject(new Error("no connection"));

/** A backend that cannot be reached. */
export const unreachableBackend: CasBackend<never> = { read: away, write: away };
