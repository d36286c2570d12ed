// A Worker with Durable Objects, for Cloudflare's own types. `npm run check:runtimes` compiles it with them.
import { DurableObject } from "cloudflare:workers";
import { createLimiter, perSecond } from "sluice";
import { DurableObjectStore, withBuckets } from "sluice/durable-object";
import { rateLimit } from "sluice/web";

export class Buckets extends withBuckets(DurableObject) {}

interface Bindings {
  readonly BUCKETS: DurableObjectNamespace<Buckets>;
  readonly UNTYPED: DurableObjectNamespace;
}

/** A class with bindings, an alarm and storage of its own. */
export class OwnBuckets extends withBuckets(DurableObject<Bindings>) {
  override async alarm() {
    await super.alarm();
    await this.ctx.storage.put("last", Date.now());
    this.env.BUCKETS.idFromName("ann");
  }
}

declare const env: Bindings;
const store = new DurableObjectStore(env.BUCKETS);
export const one = new DurableObjectStore(env.UNTYPED, { object: "acme" });
export const european = new DurableObjectStore(env.BUCKETS.jurisdiction("eu"));
// @ts-expect-error -- it is no namespace
export const wrongNamespace = () => new DurableObjectStore({});
// @ts-expect-error -- it is no class
export const wrongClass = () => withBuckets({});

const policy = { capacity: 10, refill: perSecond(2) };
export const isAllowed: Promise<boolean> = createLimiter({ policy, store }).consume("ann").then(({ allowed }) => allowed);
const limited = rateLimit({ policy, store, key: () => "ann" });
export default { fetch: limited(() => Response.json({})) } satisfies ExportedHandler<Bindings>;
