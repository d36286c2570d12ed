// The numbers of the caller that is looked at: those for all, or its own.
import type { CallerNumbers } from "../controls.js";
import { element, field, Refusal } from "./parts.js";

/** Numbers for one caller, or null for those for all. What the operator saw before, and the reason. */
export interface WantedNumbers {
  readonly numbers: { readonly capacity: number; readonly tokens: number; readonly everyMs: number } | null;
  readonly was: CallerNumbers;
  readonly reason: string;
}

const form = element<HTMLFormElement>("numbers");
/** What the form showed before the operator typed. Undefined if the numbers never change at run time. */
let seen: CallerNumbers | undefined;
let isEdited = false;

/** Shows the numbers of a caller. While an operator edits them, they stay as they were typed. */
export function showNumbers(numbers: CallerNumbers | undefined, isOtherCaller = false): void {
  form.hidden = numbers === undefined;
  if (isOtherCaller) isEdited = false;
  if (numbers === undefined || isEdited || (!isOtherCaller && form.contains(document.activeElement))) return;
  seen = numbers;
  const { capacity, tokens, everyMs, isOwn } = numbers;
  for (const [name, value] of Object.entries({ capacity, tokens, seconds: everyMs / 1_000 })) field(form, name).value = String(value);
  if (isOtherCaller) field(form, "reason").value = "";
  element("whose-numbers").textContent = isOwn ? "This caller has numbers of its own." : "This caller has the numbers for all.";
  (form.elements.namedItem("remove") as HTMLButtonElement).hidden = !isOwn;
}

/** Calls `change` when the operator sets numbers, or goes back to those for all. */
export function onNumbers(change: (wanted: WantedNumbers) => Promise<void>, attempt: (handle: () => Promise<unknown>) => Promise<boolean>): void {
  form.addEventListener("input", () => (isEdited = true));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const number = (of: string): number => Number(field(form, of).value);
    const isRemoval = (event.submitter as HTMLButtonElement | null)?.name === "remove";
    const numbers = isRemoval ? null : { capacity: number("capacity"), tokens: number("tokens"), everyMs: Math.round(1_000 * number("seconds")) };
    const was = seen;
    if (was === undefined) return;
    void attempt(async () => {
      try {
        await change({ numbers, was, reason: field(form, "reason").value });
      } catch (error) {
        // Another operator was quicker. What was typed stays, and the next click is about the new numbers.
        if (error instanceof Refusal && error.status === 409) seen = error.body.now as CallerNumbers;
        throw error;
      }
    });
  });
}
