// The part of Cloudflare's types that the Worker under test needs. Their package would change the types of the whole repository.
declare module "cloudflare:workers" {
  interface ObjectStorage {
    readonly sql: { exec(statement: string, ...values: readonly unknown[]): { toArray(): readonly object[] } };
    getAlarm(): Promise<number | null>;
    put(key: string, value: unknown): Promise<void>;
  }

  export abstract class DurableObject {
    constructor(ctx: { readonly storage: ObjectStorage }, env: unknown);
    protected readonly ctx: { readonly storage: ObjectStorage };
  }
  export const env: Readonly<Record<string, unknown>>;
}
