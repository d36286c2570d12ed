// What an operator may do to a caller. What takes something away has a red button, and needs a second click.
import type { CallerState } from "../actions.js";
import { duration } from "./caller.js";
import { element, field } from "./parts.js";

/** An action, as the form has it. */
export interface Wish {
  readonly verb: "credit" | "debit" | "block" | "reset";
  readonly limit?: string;
  readonly tokens?: number;
  readonly forMs?: number;
  readonly reason: string;
}

const form = element<HTMLFormElement>("act");
const button = form.querySelector("button") as HTMLButtonElement;
const MINUTE_MS = 60_000;
let isSure = false;
/** The policy has several limits, so the one to give to is named. */
let hasSeveral = false;

/** Calls `act` when the operator wants an action, after the second click if it takes something away. */
export function onAct(act: (wish: Wish) => unknown): void {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (button.classList.contains("danger") && !isSure) {
      isSure = true;
      return label();
    }
    calm();
    const [verb, amount, reason] = [value("verb"), Number(value("amount")), value("reason")];
    if (verb === "block") act({ verb, forMs: amount * MINUTE_MS, reason });
    else if (verb === "unblock") act({ verb: "block", forMs: 0, reason });
    else if (verb === "reset") act({ verb, reason });
    else act({ verb: verb === "debit" ? "debit" : "credit", limit: value("limit"), tokens: amount, reason });
  });
  // A double click is one click.
  button.addEventListener("click", (event) => event.detail > 1 && event.preventDefault());
  form.addEventListener("input", calm);
  form.addEventListener("change", calm);
  calm();
}

/** Offers the limits whose tokens can be given and taken. Call it for each caller that is shown. */
export function offerLimits({ levels }: CallerState): void {
  const names = levels.filter(({ inFlight }) => !inFlight).map(({ limit }) => limit);
  hasSeveral = levels.length > 1;
  const select = field(form, "limit");
  if ([...select.querySelectorAll("option")].map((each) => each.value).join("\n") !== names.join("\n")) select.replaceChildren(...names.map((name) => new Option(name)));
  calm();
}

/** Forgets the first click, because something else is meant now. */
function calm(): void {
  isSure = false;
  const verb = value("verb");
  const isTokens = verb === "credit" || verb === "debit";
  element("limit-label").hidden = !isTokens || !hasSeveral;
  const hasAmount = isTokens || verb === "block";
  element("amount-label").hidden = !hasAmount;
  (element("amount-label").firstChild as Text).data = isTokens ? "Tokens " : "Minutes ";
  field(form, "amount").disabled = !hasAmount; // a hidden field cannot be wrong
  button.classList.toggle("danger", verb === "debit" || verb === "block" || verb === "reset");
  label();
}

function label(): void {
  const amount = Number(value("amount"));
  const tokens = `${amount} ${amount === 1 ? "token" : "tokens"}`;
  const what = { credit: `Give ${tokens}`, debit: `Take ${tokens}`, block: `Block for ${duration(amount * MINUTE_MS)}`, unblock: "End the block", reset: "Reset all limits" }[value("verb")] ?? "";
  button.textContent = isSure ? `Sure? ${what}` : what;
}

function value(name: string): string {
  return field(form, name).value;
}
