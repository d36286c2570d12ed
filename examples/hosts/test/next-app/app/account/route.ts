// The route behind the example's proxy.
export const GET = (): Response => Response.json({ name: "ann" });
