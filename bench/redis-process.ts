// One of several processes on one Redis, started by redis-growth.ts. It decides for the given time and sends the number
// of its decisions.
import { callersOf } from "./measure.js";
import { overIoredis } from "./redis-sides.js";

const CALLERS = 128;
const KEYS = callersOf(20_000);
const client = await overIoredis(Number(process.argv[2]));

process.on("message", ({ name, ms }: { readonly name: string; readonly ms: number }) => {
  const side = client.allowed.find((each) => each.name === name);
  if (side === undefined) throw new Error(`Expected one of the sides, got ${name}`);
  let decisions = 0;
  const end = performance.now() + ms;
  const caller = async (_: unknown, place: number): Promise<void> => {
    for (let i = place * 97; performance.now() < end; i++) {
      if (!side.allows(await side.ask(KEYS.key(i)))) throw new Error(`${name}: a decision was not allowed`);
      decisions++;
    }
  };
  void Promise.all(Array.from({ length: CALLERS }, caller)).then(() => process.send?.(decisions));
});
process.send?.("ready");
