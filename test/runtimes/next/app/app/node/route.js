// A route handler on Node.
import { limitedBy } from "../../limited.mjs";

export const dynamic = "force-dynamic";
export const GET = limitedBy("node")(() => Response.json({ runtime: process.env.NEXT_RUNTIME }));
