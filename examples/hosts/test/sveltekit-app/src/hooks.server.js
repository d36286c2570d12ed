// The example's hooks, and those that the test makes of them: see sveltekit.test.ts.
import { handle as byAddress } from "./by-address";
import { handle as example } from "./example";
import { handle as inFlight } from "./in-flight";
import { handle as leaky } from "./leaky";
import { handle as standard } from "./standard";

const hooks = { byAddress, inFlight, leaky, standard };

export const handle = (input) => (hooks[input.event.request.headers.get("x-hooks")] ?? example)(input);
