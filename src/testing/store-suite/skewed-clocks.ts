/** Runs `run` while `Date`, `performance.now` and `process.hrtime` are wrong by `ms`. */
export async function withSkewedClocks<T>(ms: number, run: () => Promise<T>): Promise<T> {
  const undo = [skewDate(ms), skewPerformance(ms), skewHighResolution(ms)];
  try {
    return await run();
  } finally {
    for (const restore of undo) restore();
  }
}

function skewDate(ms: number): () => void {
  const RealDate = globalThis.Date;
  const now = (): number => RealDate.now() + ms;
  globalThis.Date = new Proxy(RealDate, {
    get: (target, name): unknown => (name === "now" ? now : Reflect.get(target, name)),
    construct: (target, args): Date => Reflect.construct(target, args.length === 0 ? [now()] : args) as Date,
    apply: () => new RealDate(now()).toString(),
  });
  return () => {
    globalThis.Date = RealDate;
  };
}

function skewPerformance(ms: number): () => void {
  const { now } = performance;
  performance.now = () => now.call(performance) + ms;
  return () => {
    performance.now = now;
  };
}

function skewHighResolution(ms: number): () => void {
  const { process } = globalThis;
  if (typeof process?.hrtime?.bigint !== "function") return () => undefined; // not a Node-like platform
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
