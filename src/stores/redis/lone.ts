import type { Limit } from "../../core/limit.js";
import type { Snapshot, StorePart } from "../shared/snapshot.js";
import type { RunScript } from "./client.js";
import { loneScript } from "./script-lone.js";
import {
  checkLength, snapshotOf, wholeOf, type NodeClient, type NodeWay, type ScriptCall, type StoreRequest,
} from "./protocol.js";

// The factor of the milliseconds in a short answer.
const UNITS = 2 ** 32;
// Short answers count from a minute before the last long one, because the clocks of a cluster's nodes differ.
const SLACK_MS = 60_000;

// A server keeps every script that it was sent, some of them for ever. Policies may be made at run time.
const MOST_SCRIPTS = 16;

/** Writes the calls of the script for lone decisions and reads its replies. `script-lone.ts` describes both. */
export class LoneCalls {
  readonly #runnerOf: (script: string, node?: NodeClient) => RunScript;
  /** A script for each of the first limits. The last is for all others. */
  readonly #runners = new Map<string, RunScript>();
  /** The same for the nodes of a cluster, as far as they were needed. */
  readonly #runnersAt = new WeakMap<NodeClient, Map<string, RunScript>>();
  readonly #known = new WeakMap<Limit, KnownLimit>();
  #since = 0;

  /** `runnerOf` makes the function that runs a script, with the store's client or with that of one node. */
  constructor(runnerOf: (script: string, node?: NodeClient) => RunScript) {
    this.#runnerOf = runnerOf;
  }

  /** Returns null for a request that the other script decides. With `way`, the call goes straight to a node. */
  write({ what, parts }: StoreRequest, way?: NodeWay): LoneCall | null {
    if (what !== "c" || parts.length > 1) return null;
    const { policy, tokens, name: key } = parts[0] as StorePart;
    if (policy.limits.length > 1 || policy.kindCode !== undefined || typeof tokens !== "number" || tokens === 0) return null;
    const { run, script, asked } = this.#known.get(policy.limits[0] as Limit) ?? this.#learn(policy.limits[0] as Limit);
    const args = [String(this.#since)];
    // Each argument costs the server and the client time.
    if (tokens !== 1 || asked.length > 0) args.push(String(tokens), ...asked);
    if (way === undefined) return { keys: [key], args, since: this.#since, run };
    return { keys: [way.prefix + key], args, since: this.#since, run: this.#runAt(way.node, script) };
  }

  #runAt(node: NodeClient, script: string): RunScript {
    let runners = this.#runnersAt.get(node);
    if (runners === undefined) this.#runnersAt.set(node, (runners = new Map()));
    let run = runners.get(script);
    if (run === undefined) runners.set(script, (run = this.#runnerOf(script, node)));
    return run;
  }

  #learn(limit: Limit): KnownLimit {
    const { name, capacity, unitsPerMs, unitsPerToken } = limit;
    const own = loneScript(limit);
    const isOwn = this.#runners.has(own) || this.#runners.size < MOST_SCRIPTS;
    const script = isOwn ? own : loneScript(null);
    const run = this.#runners.get(script) ?? this.#runnerOf(script);
    this.#runners.set(script, run);
    const known = { run, script, asked: isOwn ? [] : [unitsPerMs, unitsPerToken, capacity, name].map(String) };
    this.#known.set(limit, known);
    return known;
  }

  /** Returns the snapshot in a reply. Throws a StoreError with `"ERR_STORE_REPLY"` for any other reply. */
  read(reply: unknown, { since }: Pick<LoneCall, "since">, { parts: [part] }: StoreRequest): Snapshot {
    const limit = (part as StorePart).policy.limits[0] as Limit;
    if (Array.isArray(reply)) {
      checkLength(reply, 2);
      const at = wholeOf(reply[0]);
      this.#since = at - SLACK_MS;
      return snapshotOf(at, wholeOf(reply[1]), limit);
    }
    const number = wholeOf(reply);
    const [ms, spent] = number < 0 ? halvesOf(-1 - number) : halvesOf(number);
    return snapshotOf(since + ms, number < 0 ? -1 - spent : spent, limit);
  }
}

/** How lone calls of a limit are written. */
interface KnownLimit {
  readonly run: RunScript;
  readonly script: string;
  /** The numbers of a limit without a script of its own. */
  readonly asked: readonly string[];
}

function halvesOf(answer: number): [ms: number, spent: number] {
  return [Math.floor(answer / UNITS), answer % UNITS];
}

/** A call of the script for lone decisions. */
export interface LoneCall extends ScriptCall {
  /** The instant from which its short answer counts. */
  readonly since: number;
  readonly run: RunScript;
}
