import type { Decision } from "../../../../core/decision.js";
import { afterMs } from "../../../../limits/window.js";
import { callsOn } from "../../bucket-calls.js";
import type { SuiteCall } from "../../states.js";
import type { Trial } from "../../trial.js";

export const WINDOW_MS = 18_000;
/** The window of most cases. */
export const windowLimit = { name: "window", capacity: 10, returns: afterMs(WINDOW_MS) };

/** Callers with one history. A store may be slow, so all of them call at once, and one look reads all dates. */
function twinsOf(trial: Trial, capacity: number) {
  const policy = trial.policy("twins", { ...windowLimit, capacity });
  const keys = Array.from({ length: capacity }, (_, i) => `twin ${i}`);
  const callsOf = (one: Pick<SuiteCall, "method" | "tokens" | "at">): SuiteCall[] =>
    keys.map((key) => ({ ...one, policy, key }));
  const consume = (tokens: number): SuiteCall[] => callsOf({ method: "consume", tokens });
  return {
    take: (tokens = 1): Promise<unknown> => trial.callAll(...consume(tokens)),
    /** Takes one token, and is refused beside it: before or after. */
    takeBesideRefusal: (): Promise<unknown> => trial.callAll(...consume(1), ...consume(capacity + 1)),
    adjust: (tokens: number, at?: SuiteCall["at"]): Promise<unknown> =>
      trial.callAll(...callsOf({ method: "adjust", tokens, at })),
    left: async (): Promise<number> => ((await trial.callAll(...consume(0)))[0] as Decision).remaining,
    /** Asks for more than is left: each twin for another cost, so that the waits tell when each token comes back. */
    look: (left: number): Promise<unknown> =>
      trial.callAll(...consume(0).slice(left).map((call, i) => ({ ...call, tokens: left + i + 1 }))),
  };
}

export async function joinAmounts(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const twins = twinsOf(trial, 24);
  // All gaps are different but two, which are the shortest. Behind the first of these is another short one: together
  // they are longer than most.
  const gaps = [900, 400, 700, 350, 360, 500, 350, 1_000, 600, 450, 1_100, 650, 550, 750, 950, 850, 1_050, 1_200];
  await twins.take();
  for (const gap of gaps) {
    trial.move(gap);
    await twins.takeBesideRefusal();
  }
  await twins.look(5);
  // Each join from here on follows the one before it.
  for (const gap of [100, 50, 600, 1_300, 1_400]) {
    trial.move(gap);
    await twins.take();
  }
  await twins.look(0);
}

export async function dropBeforeJoining(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const twins = twinsOf(trial, 19);
  const first = trial.now;
  for (let i = 0; i < 18; i++) {
    await twins.take();
    trial.move(300 + 20 * ((7 * i) % 11));
  }
  trial.move(first + WINDOW_MS - trial.now);
  await twins.take();
  await twins.look(1);
}

export async function giveBackWhatIsThere(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const twins = twinsOf(trial, 40);
  const takes: number[] = [];
  for (let i = 0; i < 20; i++) {
    takes.push(trial.now);
    await twins.take(1 + (i % 3));
    trial.move(300 + 100 * ((5 * i) % 7));
  }
  // Twice, as from a copy; more than is there; from an instant without a take, in an amount and between two.
  for (const [i, tokens] of [[4, 1], [4, 9], [10, 2], [10, 1], [19, 1], [0, 1]] as const) await twins.adjust(-tokens, takes[i]);
  for (const [i, later] of [[5, 1], [6, 7], [18, 1]] as const) await twins.adjust(-1, { at: (takes[i] as number) + later });
  await twins.look(await twins.left());
  for (const i of [0, 4, 9]) {
    trial.move(Math.max(0, (takes[i] as number) + WINDOW_MS - trial.now));
    await twins.adjust(-1, takes[i]); // its own date is over
  }
  await twins.look(await twins.left());
}

export async function giveBackWhatIsGone(trial: Trial): Promise<void> {
  await trial.openStores("mixed");
  const bucket = callsOn(trial, trial.policy("gone", windowLimit));
  const first = trial.now;
  await bucket.take(10);
  trial.move(WINDOW_MS);
  await bucket.take(10);
  await bucket.adjust(-10, first);
  await bucket.take(1);
  if (!trial.has("reset")) return;
  const second = trial.now;
  await bucket.reset();
  trial.move(100);
  const third = trial.now;
  await bucket.take(8);
  await bucket.adjust(-10, second);
  await bucket.take(3);
  await bucket.adjust(-5, third - 1);
  await bucket.adjust(-5, third + 1);
  await bucket.take(0);
}
