// What the middleware stands before.
export const dynamic = "force-dynamic";
export const GET = () => Response.json({ runtime: process.env.NEXT_RUNTIME });
