/**
 * Makes `run` take turns with itself. A call while it runs leads to one more run, which several calls share. The promise
 * is that of the run which began after the call. `run` must not reject.
 */
export function oneAtATime(run: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  let next: Promise<void> | null = null;
  return () =>
    (next ??= last = last.then(() => {
      next = null;
      return run();
    }));
}
