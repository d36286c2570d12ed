/** GraphQL Yoga 5: `createYoga({ schema, plugins: [limitComplexity((context) => context.userId)] })`. */
import { getOperationAST, Kind, type ExecutionArgs, type SelectionSetNode } from "graphql";
import { createGraphQLError, type Plugin } from "graphql-yoga";
import { createLimiter, MemoryStore, perSecond, type Store } from "sluice";
import { retryAfterSeconds } from "sluice/http";

/** One for each field. Below a field with the argument `first`, each field counts so many times. A fragment counts at each use. */
export function complexityOf({ document, operationName, variableValues }: Pick<ExecutionArgs, "document" | "operationName" | "variableValues">): number {
  const fragments = new Map(document.definitions.flatMap((each) => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each.selectionSet] as const] : [])));
  const known = new Map<SelectionSetNode, number>(); // each set is counted once, so nested fragments take no exponential time
  const within = (count: unknown): number => Math.max(1, Math.min(1e6, Math.floor(Number(count)) || 1));
  function costOf(set: SelectionSetNode | undefined): number {
    if (set === undefined) return 0;
    let cost = known.get(set) ?? 0;
    if (known.has(set)) return cost;
    for (const each of set.selections) {
      if (each.kind === Kind.FRAGMENT_SPREAD) cost += costOf(fragments.get(each.name.value));
      else if (each.kind === Kind.INLINE_FRAGMENT) cost += costOf(each.selectionSet);
      else {
        const value = each.arguments?.find(({ name }) => name.value === "first")?.value;
        const count = value?.kind === Kind.VARIABLE ? variableValues?.[value.name.value] : value?.kind === Kind.INT && value.value;
        cost += 1 + within(count) * costOf(each.selectionSet);
      }
    }
    known.set(set, (cost = Math.min(cost, Number.MAX_SAFE_INTEGER)));
    return cost;
  }
  return costOf(getOperationAST(document, operationName)?.selectionSet);
}

/** Charges each operation after validation, before it runs. `userOf` gets Yoga's context. */
export function limitComplexity<Context>(userOf: (context: Context) => string | undefined, store: Store = new MemoryStore()): Plugin {
  const limiter = createLimiter({ policy: { name: "graphql", capacity: 1_000, refill: perSecond(50) }, store });
  const charge = async ({ args }: { readonly args: ExecutionArgs }): Promise<void> => {
    const decision = await limiter.consume(["user", userOf(args.contextValue as Context) ?? "nobody"], complexityOf(args));
    if (decision.allowed) return;
    const [retryAfter, isLimited] = [retryAfterSeconds(decision), decision.reason === "limited"];
    const status = isLimited ? 429 : decision.reason === "cost_above_capacity" ? 400 : 503;
    const http = { status, headers: retryAfter === null ? {} : { "Retry-After": String(retryAfter) } };
    const code = isLimited ? "rate_limited" : decision.reason;
    throw createGraphQLError(isLimited ? `Try again in ${retryAfter} s.` : "This query cannot run.", { extensions: { code, retryAfter, http } });
  };
  return { onExecute: charge, onSubscribe: charge };
}
