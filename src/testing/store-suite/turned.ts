// A process whose clocks are wrong, for stores that must not go by them.

/** Runs `run` while every clock of this process that can be read by a name is wrong by `ms`. */
export async function turnedBy<T>(ms: number, run: () => Promise<T>): Promise<T> {
  const undo = [turnDate(ms), turnPerformance(ms), turnHighResolution(ms)];
  try {
    return await run();
  } finally {
    for (const back of undo) back();
  }
}

function turnDate(ms: number): () => void {
  const RightDate = globalThis.Date;
  const now = (): number => RightDate.now() + ms;
  globalThis.Date = new Proxy(RightDate, {
    get: (target, name): unknown => (name === "now" ? now : Reflect.get(target, name)),
    construct: (target, args): Date => Reflect.construct(target, args.length === 0 ? [now()] : args) as Date,
    apply: () => new RightDate(now()).toString(),
  });
  return () => {
    globalThis.Date = RightDate;
  };
}

function turnPerformance(ms: number): () => void {
  const { now } = performance;
  performance.now = () => now.call(performance) + ms;
  return () => {
    performance.now = now;
  };
}

function turnHighResolution(ms: number): () => void {
  const { process } = globalThis;
  if (typeof process?.hrtime?.bigint !== "function") return () => undefined; // not every platform has it
  const { hrtime } = process;
  const bigint = (): bigint => hrtime.bigint() + BigInt(ms) * 1_000_000n;
  const pair = (since: readonly [number, number] = [0, 0]): [number, number] => {
    const passed = bigint() - BigInt(since[0]) * 1_000_000_000n - BigInt(since[1]);
    return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)];
  };
  process.hrtime = Object.assign(pair, { bigint }) as typeof hrtime;
  return () => {
    process.hrtime = hrtime;
  };
}
