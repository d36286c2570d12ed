import { explore } from "./explore.js";
import { MISTAKES } from "./mistakes.js";
import { realFunctions } from "./real.js";
import { WORLDS } from "./worlds.js";
for (const mistake of MISTAKES.filter(({ worlds }) => worlds.includes("a window, credits and steps back"))) {
  const world = WORLDS.find(({ name }) => name === "a window, credits and steps back")!;
  const found = explore(world.make(await realFunctions(mistake)), 9_000);
  console.log(mistake.what, found.states, found.fault?.law);
}
