import type { IoredisLike, NodeRedisLike, RedisClient } from "../client.js";

/** The client of one node. It follows no redirection, so its calls reach that node or fail. */
export type NodeClient = IoredisLike | NodeRedisLike;

interface IoredisNode extends IoredisLike {
  readonly status?: unknown;
  readonly options?: { readonly host?: string; readonly port?: number; readonly keyPrefix?: unknown };
}

interface NodeRedisNode extends NodeRedisLike {
  readonly isReady?: unknown;
}

/** The cluster clients of ioredis and iovalkey, and of node-redis, as far as they tell where slots are. */
interface SlotMap {
  readonly slots?: ReadonlyArray<readonly string[] | { readonly master?: { readonly client?: NodeRedisNode } } | undefined>;
  nodes?(role: "master"): readonly IoredisNode[];
}

/**
 * Returns the function that finds the client of the node that has a slot. It answers undefined while the client does
 * not know the node or is not connected to it, and always for a client that does not tell where slots are.
 */
export function nodeFinder(client: RedisClient): (slot: number) => NodeClient | undefined {
  const cluster = client as SlotMap;
  // ioredis tells the node of a slot by its address, and searching its list for each decision would take too long.
  let byAddress = new Map<string, IoredisNode>();
  return (slot) => {
    const found = cluster.slots?.[slot];
    if (found === undefined) return undefined;
    if (!isAddresses(found)) return found.master?.client?.isReady === true ? found.master.client : undefined;
    const address = found[0] as string;
    const known = byAddress.get(address);
    if (known?.status === "ready") return known;
    byAddress = new Map(cluster.nodes?.("master").map((node) => [`${node.options?.host}:${node.options?.port}`, node]));
    const node = byAddress.get(address);
    return node?.status === "ready" ? node : undefined;
  };
}

// Replicas follow the master's address.
function isAddresses(entry: object): entry is readonly string[] {
  return Array.isArray(entry);
}
