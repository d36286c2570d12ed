// Moves slots of a cluster between nodes like `redis-cli --cluster reshard`, in steps between which a test can stop.
import { Redis } from "ioredis";
import { slotOf } from "../../src/stores/redis/slot.js";
import type { OwnCluster } from "./own-redis.js";

interface Node {
  readonly client: Redis;
  readonly port: number;
  readonly id: string;
}

/** Moves slots of a cluster. */
export class SlotMover {
  readonly #nodes: readonly Node[];

  private constructor(nodes: readonly Node[]) {
    this.#nodes = nodes;
  }

  static async of({ ports }: OwnCluster): Promise<SlotMover> {
    return new SlotMover(
      await Promise.all(
        ports.map(async (port) => {
          const client = new Redis(port);
          return { client, port, id: String(await client.cluster("MYID")) };
        }),
      ),
    );
  }

  close(): void {
    for (const { client } of this.#nodes) client.disconnect();
  }

  /** The index of the master that has the slot, once all nodes name the same one: word of a move takes its time. */
  ownerOf(slot: number): Promise<number> {
    return this.#agreed(`the owner of slot ${slot}`, (node) => this.#ownerAsSeenBy(node, slot), (owner) => owner >= 0);
  }

  /**
   * Waits until all nodes know the same epochs. A node that takes over a slot takes the highest epoch that it knows: with
   * one below that of the slot's last owner, it would believe that owner's last word and give the slot back for good.
   */
  async #epochsAreKnown(): Promise<void> {
    const epochs = async ({ client }: Node): Promise<string> =>
      String(await client.cluster("NODES")).trim().split("\n").map((line) => line.split(" ")).map(([id, , , , , , epoch]) => `${epoch} ${id}`).sort().join(", ");
    await this.#agreed("their epochs", epochs, (each) => new Set(each.match(/\d+(?= )/g)).size === this.#nodes.length);
  }

  async #agreed<T>(what: string, seenBy: (node: Node) => Promise<T>, isRight: (seen: T) => boolean): Promise<T> {
    let seen: T[] = [];
    for (const end = Date.now() + 20_000; Date.now() < end; ) {
      seen = await Promise.all(this.#nodes.map(seenBy));
      const [first] = seen as [T];
      if (isRight(first) && seen.every((other) => other === first)) return first;
    }
    throw new Error(`the nodes do not agree on ${what}: ${seen.join(" | ")}`);
  }

  async #ownerAsSeenBy({ client }: Node, slot: number): Promise<number> {
    const ranges = (await client.cluster("SLOTS")) as unknown as [number, number, [string, number]][];
    const range = ranges.find(([from, to]) => slot >= from && slot <= to);
    return this.#nodes.findIndex(({ port }) => port === range?.[2][1]);
  }

  /** Begins to move a slot: its keys stay where they are, and new keys are made on the other node. */
  async begin(slot: number, from: number, to: number): Promise<void> {
    const [source, target] = [this.#nodes[from], this.#nodes[to]] as [Node, Node];
    await target.client.cluster("SETSLOT", slot, "IMPORTING", source.id);
    await source.client.cluster("SETSLOT", slot, "MIGRATING", target.id);
  }

  /**
   * Moves the keys of the slot one by one, and then the slot. Finish one slot before the next: a node that takes over a
   * slot may claim an earlier one again until it has learned of its move.
   */
  async finish(slot: number, from: number, to: number): Promise<void> {
    const [source, target] = [this.#nodes[from], this.#nodes[to]] as [Node, Node];
    for (;;) {
      const [key] = (await source.client.cluster("GETKEYSINSLOT", slot, 1)) as string[];
      if (key === undefined) break;
      await source.client.migrate("127.0.0.1", target.port, key, 0, 5_000);
    }
    await this.#epochsAreKnown();
    for (const { client } of [target, source, ...this.#nodes]) await client.cluster("SETSLOT", slot, "NODE", target.id);
  }

  /** Moves two slots to the next nodes. Both moves begin before either ends. */
  async moveTwo(slots: readonly [number, number]): Promise<void> {
    const ways: [number, number, number][] = [];
    for (const slot of slots) {
      const from = await this.ownerOf(slot);
      ways.push([slot, from, (from + 1) % this.#nodes.length]);
    }
    for (const way of ways) await this.begin(...way);
    for (const way of ways) await this.finish(...way);
  }
}

/** `count` keys with names in one slot, for each of `slots` slots. `name` returns the store's name of a key. */
export function keysOfSlots(slots: number, count: number, name: (key: string) => string): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, string[]>();
  const full = (): [number, string[]][] => [...found].filter(([, keys]) => keys.length >= count);
  for (let number = 0; full().length < slots; number += 1_000) {
    for (let i = number; i < number + 1_000; i++) {
      const slot = slotOf(name(`key ${i}`));
      found.set(slot, [...(found.get(slot) ?? []), `key ${i}`]);
    }
  }
  return new Map(full().slice(0, slots).map(([slot, keys]) => [slot, keys.slice(0, count)]));
}
