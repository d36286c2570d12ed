// The page's program. Keys come from callers, so they are shown as text, never as HTML.
import type { Key } from "sluice";
import type { CallerState } from "../actions.js";
import type { Overview } from "../admin.js";
import type { CallerRow } from "../recent-callers.js";
import { keyOfText, textOfKey } from "./key-text.js";
import { showPolicies } from "./policies.js";
import { element, field, make, post, Refusal, say } from "./parts.js";

const EVERY_MS = 2_000;

let shown: { readonly limiter: string; readonly key: Key } | undefined;

const signIn = element<HTMLFormElement>("sign-in");
const look = element<HTMLFormElement>("look");
const action = element<HTMLFormElement>("act");

on(signIn, async () => {
  await post("sign-in", { name: field(signIn, "name").value, password: field(signIn, "password").value });
  signIn.reset();
  say("");
  await refresh();
});
on(look, async () => show(field(look, "limiter").value, keyOfText(field(look, "key").value)));
on(action, async () => {
  if (shown === undefined) return;
  const [verb, amount] = [field(action, "verb").value, Number(field(action, "amount").value)];
  const amounts = verb === "block" ? { forMs: amount * 60_000 } : verb === "reset" ? {} : { tokens: amount };
  showState(await post<CallerState>("act", { ...shown, verb, ...amounts, reason: field(action, "reason").value }));
  field(action, "reason").value = "";
  say(`Done: ${verb} of ${textOfKey(shown.key)}.`);
});
field(action, "verb").addEventListener("change", () => {
  const verb = field(action, "verb").value;
  element("amount-label").hidden = verb === "reset";
  (element("amount-label").firstChild as Text).data = verb === "block" ? "Minutes " : "How many ";
});
element("sign-out").addEventListener("click", () => void attempt(() => post("sign-out", {}).then(refresh)));

/** Runs `handle` when the form is sent, and shows what went wrong. */
function on(form: HTMLFormElement, handle: () => Promise<void>): void {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(handle);
  });
}

async function attempt(handle: () => Promise<unknown>): Promise<void> {
  try {
    await handle();
  } catch (error) {
    if (error instanceof Refusal && error.status === 401 && !signIn.hidden) say(error.message, "bad");
    else if (error instanceof Refusal && error.status === 401) showSignIn(true);
    else say(error instanceof Refusal ? error.message : "The service does not answer.", "bad");
  }
}

async function refresh(): Promise<void> {
  const overview = await post<Overview>("overview", {});
  showSignIn(false);
  const { processes, operator, limiters, policies } = overview;
  element("facts").textContent = `Callers of the last 5 minutes, in ${processes} ${processes === 1 ? "process" : "processes"}. You are ${operator}.`;
  showRows("refused", overview.mostRefused);
  showRows("requests", overview.mostRequests);
  const choice = field(look, "limiter");
  if (choice.childElementCount === 0) choice.append(...limiters.map((name) => make("option", name)));
  showPolicies(policies, (change) => attempt(async () => {
    await post("policy", change);
    say(`Changed ${change.name} in all processes.`);
    await refresh();
  }));
  if (shown !== undefined) showState(await post<CallerState>("peek", shown));
}

function showSignIn(isOut: boolean): void {
  signIn.hidden = !isOut;
  element("sign-out").hidden = isOut;
  element("main").hidden = isOut;
}

function showRows(id: string, rows: readonly CallerRow[]): void {
  const body = element(id).querySelector("tbody") as HTMLElement;
  const focused = body.contains(document.activeElement) ? document.activeElement?.textContent : null;
  body.replaceChildren(
    ...rows.map(({ limiter, key, requests, requestsError, refused, refusedError }) => {
      const button = make("button", textOfKey(key));
      button.addEventListener("click", () => void attempt(() => show(limiter, key)));
      const row = document.createElement("tr");
      const cell = (content: string | Node): Node => {
        const made = document.createElement("td");
        made.append(content);
        return made;
      };
      row.append(cell(button), cell(limiter), cell(about(refused, refusedError)), cell(about(requests, requestsError)));
      return row;
    }),
  );
  for (const button of body.querySelectorAll("button")) if (button.textContent === focused) button.focus();
}

/** A count, and its lower bound where the sketch is not sure. */
function about(count: number, error: number): string {
  return error === 0 ? String(count) : `${count - error} to ${count}`;
}

async function show(limiter: string, key: Key): Promise<void> {
  const state = await post<CallerState>("peek", { limiter, key });
  shown = { limiter, key };
  field(look, "limiter").value = limiter;
  field(look, "key").value = textOfKey(key);
  action.hidden = false;
  say("");
  showState(state);
}

function showState({ levels, allowed, blocked, retryAfterMs }: CallerState): void {
  const verdict = element("verdict");
  const wait = retryAfterMs < 60_000 ? `${Math.ceil(retryAfterMs / 1_000)} s` : `${Math.ceil(retryAfterMs / 60_000)} min`;
  verdict.dataset["state"] = allowed ? "free" : "refused";
  verdict.textContent = allowed ? "The next call is allowed." : `${blocked ? "Blocked: calls are" : "The next call is"} refused. Ask again in ${wait}.`;
  element("levels").replaceChildren(
    ...levels.map(({ limit, remaining, capacity }) => {
      const row = document.createElement("li");
      const meter = document.createElement("meter");
      Object.assign(meter, { min: 0, max: capacity, low: capacity / 5, high: capacity / 2, optimum: capacity, value: remaining });
      meter.setAttribute("aria-label", `${limit}: ${remaining} of ${capacity} left`);
      row.append(make("span", limit), meter, make("span", `${remaining} of ${capacity} left`));
      return row;
    }),
  );
}

async function turn(): Promise<void> {
  if (!document.hidden && signIn.hidden) await attempt(refresh);
  setTimeout(() => void turn(), EVERY_MS);
}

await attempt(refresh);
document.body.dataset["ready"] = "";
void turn();
