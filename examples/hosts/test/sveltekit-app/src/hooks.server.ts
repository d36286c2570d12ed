// The example's hooks, and those that the test makes of them: see sveltekit.test.ts.
import type { Handle } from "@sveltejs/kit/hooks";
import { handle as byAddress } from "./by-address.js";
import { handle as example } from "./example.js";
import { handle as inFlight } from "./in-flight.js";
import { handle as leaky } from "./leaky.js";

const hooks: Readonly<Record<string, Handle>> = { byAddress, inFlight, leaky };

export const handle: Handle = (input) => (hooks[input.event.request.headers.get("x-hooks") ?? ""] ?? example)(input);
