import { keyPrefixOf, type AnyRedisClient, type IoredisLike, type NodeRedisLike } from "../client.js";
import type { NodeClient, NodeWay } from "../protocol.js";

interface IoredisNode extends IoredisLike {
  readonly status?: unknown;
  readonly options?: { readonly host?: string; readonly port?: number; readonly keyPrefix?: unknown };
}

interface NodeRedisNode extends NodeRedisLike {
  readonly isReady?: unknown;
}

/** The slot maps of the cluster clients of ioredis, iovalkey and node-redis. */
interface SlotMap {
  readonly slots?: ReadonlyArray<readonly string[] | { readonly master?: { readonly client?: NodeRedisNode } } | undefined>;
  nodes?(role: "master"): readonly IoredisNode[];
}

/**
 * Returns a function that finds the client of the node that has a slot. It returns undefined while the client has no
 * node for the slot or no connection to it. For a client without a slot map it always returns undefined.
 */
export function nodeFinder(client: AnyRedisClient): (slot: number) => NodeClient | undefined {
  const cluster = client as SlotMap;
  // ioredis has only the address of a slot's node, and searching its list for each decision would take too long.
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

/**
 * The way to a node for keys that have `keyPrefix` on the cluster. Undefined when the node's client puts another text
 * before keys: that call would find another bucket.
 */
export function wayTo(node: NodeClient, keyPrefix: string): NodeWay | undefined {
  const own = keyPrefixOf(node);
  if (own === "") return { node, prefix: keyPrefix };
  return own === keyPrefix ? { node, prefix: "" } : undefined;
}

// The addresses of replicas follow the master's.
function isAddresses(entry: object): entry is readonly string[] {
  return Array.isArray(entry);
}
