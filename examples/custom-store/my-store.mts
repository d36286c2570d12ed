// A custom store to begin with. The Map stands in for your system: replace the lines of `read` and `write` that use it.
import { casStore, type Time } from "sluice/store";

const kept = new Map<string, { value: string; version: number }>();

export function myStore(time?: Time) {
  return casStore<number>(
    {
      async read(key) {
        return kept.get(key) ?? null; // { value, version }
      },
      async write(key, value, version) {
        if ((kept.get(key)?.version ?? null) !== version) return false; // another process was faster
        kept.set(key, { value, version: (version ?? 0) + 1 });
        return true;
      },
    },
    { time },
  );
}
