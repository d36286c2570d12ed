/** When the stored numbers are read: after each notification, each minute, and a second after a failure. */

export interface ReadingOptions {
  /** How long the service waits for the first numbers before it starts with those of the code. Default 1,000. */
  readonly firstMs?: number;
  /** The numbers are read again after this time, in case a notification was lost. Default 60,000. */
  readonly everyMs?: number;
  /** And after this time when a read failed. Default 1,000. */
  readonly afterFailureMs?: number;
}

/** One reader of stored numbers. */
export interface Reader {
  /** Reads now, or once more after the read that runs. Resolves when the numbers are read, or the read failed. */
  readNow(): Promise<void>;
  /** Resolves after the first read, or after `firstMs`: a service starts also without its store. */
  started(): Promise<void>;
  close(): void;
}

/** Runs `read` one at a time, so that an older answer never comes after a newer one. */
export function keepReading(read: () => Promise<void>, { firstMs = 1_000, everyMs = 60_000, afterFailureMs = 1_000 }: ReadingOptions = {}): Reader {
  let running: Promise<void> | null = null;
  let again = false;
  let closed = false;
  let failed = false;
  let timer: NodeJS.Timeout | undefined;

  async function run(): Promise<void> {
    clearTimeout(timer);
    let waitMs = everyMs;
    try {
      while (again && !closed) {
        again = false;
        await read();
      }
      failed = false;
    } catch (error) {
      if (!failed && !closed) console.error("The numbers stay as they are, because they could not be read:", (error as Error).message);
      failed = true;
      waitMs = afterFailureMs;
    }
    running = null;
    if (!closed) timer = setTimeout(() => void readNow(), waitMs).unref();
  }

  function readNow(): Promise<void> {
    again = true;
    return (running ??= run());
  }

  return {
    readNow,
    async started() {
      let late: NodeJS.Timeout | undefined;
      await Promise.race([readNow(), new Promise((resolve) => (late = setTimeout(resolve, firstMs)))]);
      clearTimeout(late);
    },
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** What a service does with the numbers of all processes. */
export interface Follower<N> {
  /** Changes the numbers in all processes. Throws for impossible ones, and then tells no one. */
  set(policy: string, numbers: N): Promise<void>;
  /** Goes back to the numbers of the code, in all processes. */
  unset(policy: string): Promise<void>;
  close(): void;
}
