// The page's program. Keys come from callers, so they are shown as text, never as HTML.
import type { Key } from "sluice";
import type { Done, Overview, ShownCaller } from "../admin.js";
import { offerLimits, onAct } from "./actions.js";
import { showState } from "./caller.js";
import { markCaller, showCallers } from "./callers.js";
import { keyOfText, textOfKey } from "./key-text.js";
import { onNumbers, showNumbers } from "./numbers.js";
import { showPolicies } from "./policies.js";
import { element, field, make, post, Refusal, say } from "./parts.js";

const EVERY_MS = 2_000;

let shown: { readonly limiter: string; readonly key: Key } | undefined;

const signIn = element<HTMLFormElement>("sign-in");
const look = element<HTMLFormElement>("look");

on(signIn, async () => {
  await post("sign-in", { name: field(signIn, "name").value, password: field(signIn, "password").value });
  signIn.reset();
  say("");
  await refresh();
});
on(look, async () => show(field(look, "limiter").value, keyOfText(field(look, "key").value)));
onAct((wish) => attempt(async () => {
  if (shown === undefined) return;
  const caller = shown;
  const { state, message } = await post<Done>("act", { ...caller, ...wish });
  field(element("act"), "reason").value = "";
  if (caller === shown) showState(state);
  say(`${message} It was: ${wish.verb === "block" && wish.forMs === 0 ? "end of the block" : wish.verb} of ${textOfKey(caller.key)}.`, state === null ? "bad" : "good");
}));
onNumbers(async (wanted) => {
  if (shown === undefined) return;
  const caller = shown;
  await post("numbers", { ...caller, ...wanted });
  if (caller === shown) await show(caller.limiter, caller.key);
  say(wanted.numbers === null ? `${textOfKey(caller.key)} has the numbers for all again.` : `${textOfKey(caller.key)} has numbers of its own, in all processes.`);
}, attempt);
element("sign-out").addEventListener("click", () => void attempt(() => post("sign-out", {}).then(refresh)));

/** Runs `handle` when the form is sent, and shows what went wrong. */
function on(form: HTMLFormElement, handle: () => Promise<void>): void {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(handle);
  });
}

/** Whether it went well. What went wrong is shown. */
async function attempt(handle: () => Promise<unknown>): Promise<boolean> {
  try {
    await handle();
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.status === 401 && !signIn.hidden) say(error.message, "bad");
    else if (error instanceof Refusal && error.status === 401) showSignIn(true);
    else if (error instanceof Refusal) say(error.message, "bad");
    else {
      console.error(error); // mostly the TypeError of `fetch`
      say("The service does not answer.", "bad");
    }
    return false;
  }
}

async function refresh(): Promise<void> {
  const overview = await post<Overview>("overview", {});
  showSignIn(false);
  const { processes, alone, operator, limiters, policies, callers } = overview;
  const where = alone ? "this process only: the others cannot be asked now" : `${processes} ${processes === 1 ? "process" : "processes"}`;
  element("facts").textContent = `Callers of the last 5 minutes, in ${where}. You are ${operator}.`;
  showCallers(callers, (limiter, key) => attempt(() => show(limiter, key)));
  const choice = field(look, "limiter");
  if (choice.childElementCount === 0) choice.append(...limiters.map((name) => make("option", name)));
  showPolicies(policies, async (change) => {
    await post("policy", change);
    say(`Changed ${change.name} in all processes.`);
  }, attempt);
  const caller = shown;
  if (caller === undefined) return;
  const state = await post<ShownCaller>("peek", caller).catch((error: unknown) => {
    // No message: it would replace the one about the last action.
    if (error instanceof Refusal && error.status === 503) return null;
    throw error;
  });
  if (caller !== shown) return;
  showState(state);
  if (state !== null) showNumbers(state.numbers);
}

function showSignIn(isOut: boolean): void {
  signIn.hidden = !isOut;
  element("sign-out").hidden = isOut;
  element("main").hidden = isOut;
}

async function show(limiter: string, key: Key): Promise<void> {
  const state = await post<ShownCaller>("peek", { limiter, key });
  shown = { limiter, key };
  field(look, "limiter").value = limiter;
  field(look, "key").value = textOfKey(key);
  element("act").hidden = false;
  say("");
  offerLimits(state);
  markCaller(limiter, key);
  showState(state);
  showNumbers(state.numbers, true);
}

async function turn(): Promise<void> {
  if (!document.hidden && signIn.hidden) await attempt(refresh);
  setTimeout(() => void turn(), EVERY_MS);
}

await attempt(refresh);
document.body.dataset["ready"] = "";
void turn();
