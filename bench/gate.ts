/**
 * What a gate costs: `npm run bench gate`. It prints figures and goals, and fails on none.
 *
 * - `npm run bench gate -- --only=node` measures one framework: node, express, fastify or hono.
 * - `npm run bench gate -- --against ../before` measures the build of this checkout beside that of another one. Both need
 *   `npm run build`. `npx tsx gate.ts` in this folder takes the build that is there.
 * - `--quick` has fewer rounds.
 *
 * Each side is a process of its own, gate-worker.mjs. It sends requests and responses of Node through the real framework,
 * without sockets. The sides take turns in blocks of a few milliseconds. A block is the processor time of a request. The
 * figure of a process is the tenth percentile of its blocks, because other work on the machine only makes blocks slower.
 * All processes are started 12 times, 6 with `--quick`. A start falls into a fast or a slow mode, so the figure of a side
 * is that of its lowest start. The control is a second process of the other side beside the first. If the two differ by
 * more than 0.03, nothing can be told.
 *
 * "Adds" is the time above that of the same framework without a limiter.
 */
import { alternate, buildsOf, type AlternateSide } from "./alternate.js";
import { besideLowest, lowest } from "./ratios.js";
import { finish, goal, show } from "./results.js";

interface Framework {
  readonly name: string;
  readonly title: string;
  readonly peer: string;
  /** Requests in a block: a few milliseconds. */
  readonly block: number;
  /** The goals. */
  readonly three: number;
  readonly refusal: number;
  readonly byHand?: number;
}

const FRAMEWORKS: readonly Framework[] = [
  { name: "node", title: "Node http", peer: "rate-limiter-flexible", block: 2_000, three: 1, refusal: 1, byHand: 1.5 },
  { name: "express", title: "Express 5", peer: "express-rate-limit", block: 300, three: 0.8, refusal: 0.75 },
  { name: "fastify", title: "Fastify 5", peer: "@fastify/rate-limit", block: 2_000, three: 1.1, refusal: 0.8, byHand: 1.5 },
  { name: "hono", title: "Hono on Node", peer: "hono-rate-limiter", block: 2_000, three: 0.95, refusal: 1 },
];
const FOUR_LIMITS = 3;

const BARE = "bare";
const AGAIN = ", again";
const BEFORE = "before: ";
const OWN = {
  "sluice, three fields": { way: "sluice", fields: 3 },
  "sluice, five fields": { way: "sluice", fields: 5 },
  "sluice, four limits": { way: "sluice", fields: 5, limits: 4 },
  "sluice, 429": { way: "sluice", fields: 5, refuse: true },
};
const OTHERS = {
  "three by hand": { way: "hand", fields: 3 },
  "five by hand": { way: "hand", fields: 5 },
  peer: { way: "peer" },
  "peer, 429": { way: "peer", refuse: true },
};

interface Ready {
  readonly fields: readonly string[];
  readonly bytes: number;
}

const builds = buildsOf();
const only = process.argv.find((word) => word.startsWith("--only="))?.slice("--only=".length);
for (const framework of FRAMEWORKS) if (only === undefined || only === framework.name) await measure(framework);
finish("gate", ["express", "fastify", "hono", "@hono/node-server", ...FRAMEWORKS.map(({ peer }) => peer)]);

async function measure(framework: Framework): Promise<void> {
  const { name, title, peer, block } = framework;
  const blocks = { block, warmUp: Math.max(6_000, 6 * block) };
  const { ns, ready } = await alternate<Ready>(title, "gate-worker.mjs", sidesOf(name), blocks);
  const of = (side: string): readonly number[] => ns.get(side) ?? [];
  checkAlike(ready);
  show(
    `${title}: nanoseconds of processor time a request; the peer is ${peer}`,
    Object.fromEntries(
      [...ns].map(([side, own]) => {
        const { fields, bytes } = ready.get(side) as Ready;
        return [side, { ns: Math.round(lowest(own)), adds: Math.round(lowest(own) - lowest(of(BARE))), "limit fields": fields.length, "bytes of the response": bytes }];
      }),
    ),
  );
  const beside = (own: string, other: string) => besideLowest(of(own), of(other), of(other + AGAIN));
  const adds = (own: string, other: string) => besideLowest(of(own), of(other), of(other + AGAIN), of(BARE));

  if (builds.before !== undefined) {
    for (const own of Object.keys(OWN)) goal(`${title}: what ${own} adds, now beside before`, adds(own, BEFORE + own), { atMost: 1 });
    return;
  }
  goal(`${title}: what three fields add, beside ${peer}`, adds("sluice, three fields", "peer"), { atMost: framework.three });
  if (framework.byHand !== undefined) {
    goal(`${title}: what five fields add, beside the same by hand`, adds("sluice, five fields", "five by hand"), { atMost: framework.byHand });
  }
  goal(`${title}: a 429, beside that of ${peer}`, beside("sluice, 429", "peer, 429"), { atMost: framework.refusal });
  goal(`${title}: what four limits add, beside one`, adds("sluice, four limits", "sluice, five fields"), { atMost: FOUR_LIMITS });
}

/** With `--against`, the sides are the two builds. Otherwise, sluice and its peers. */
function sidesOf(framework: string): readonly AlternateSide[] {
  const side = (name: string, what: object, dist = builds.now): AlternateSide => ({ name, args: [framework, JSON.stringify({ ...what, dist })] });
  const own = Object.entries(OWN).map(([name, what]) => side(name, what));
  const { before } = builds;
  if (before !== undefined) {
    const earlier = Object.entries(OWN).flatMap(([name, what]) => [side(BEFORE + name, what, before), side(BEFORE + name + AGAIN, what, before)]);
    return [side(BARE, { way: "bare" }), ...earlier, ...own];
  }
  const others = Object.entries(OTHERS).flatMap(([name, what]) => [side(name, what), ...(name === "three by hand" ? [] : [side(name + AGAIN, what)])]);
  return [side(BARE, { way: "bare" }), ...others, ...own, side("sluice, five fields" + AGAIN, OWN["sluice, five fields"])];
}

/** Throws when the fields set by hand differ from the limiter's, because the comparison would be wrong. */
function checkAlike(ready: ReadonlyMap<string, Ready>): void {
  for (const count of ["three", "five"]) {
    const [own, hand] = [ready.get(`sluice, ${count} fields`), ready.get(`${count} by hand`)];
    if (hand === undefined || (String(own?.fields) === String(hand.fields) && own?.bytes === hand.bytes)) continue;
    throw new Error(`Expected "${count} by hand" to send ${own?.fields} in ${own?.bytes} bytes, got ${hand.fields} in ${hand.bytes}`);
  }
}
