// A route handler in the edge runtime, with an observer, which looks for Node's diagnostics_channel.
import { createObserver } from "sluice";
import { limitedBy } from "../../limited.mjs";

export const runtime = "edge";
export const GET = limitedBy("edge", { observe: createObserver() })(() => Response.json({ runtime: process.env.NEXT_RUNTIME }));
