/** More proxies than any server has in front of it. */
const PROXIES = 100;

/**
 * Whether the framework believes every address in `X-Forwarded-For`. It asks for the `ip` of a request that came
 * through 100 proxies, because a setting has many forms: true, a function, a list of networks.
 */
export function trustsEveryProxy(request: unknown): boolean {
  try {
    return (Object.create(Object(request) as object, probe()) as { readonly ip?: unknown }).ip === "192.0.2.1";
  } catch {
    return false;
  }
}

function probe(): PropertyDescriptorMap {
  const forwarded = Array.from({ length: PROXIES }, (_, i) => `192.0.2.${i + 1}`).join(", ");
  const socket = { remoteAddress: "198.51.100.1" };
  const raw = { headers: { "x-forwarded-for": forwarded }, socket, connection: socket };
  // Express reads these members of the request, and Fastify those of its `raw`.
  return Object.fromEntries(Object.entries({ ...raw, raw }).map(([name, value]) => [name, { value }]));
}
