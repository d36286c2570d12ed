// The part of Cloudflare's types that the Worker under test needs. Their package would change the types of the whole repository.
declare module "cloudflare:workers" {
  export class DurableObject {}
  export const env: Readonly<Record<string, unknown>>;
}
