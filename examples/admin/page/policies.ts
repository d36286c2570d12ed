// The policies whose numbers and mode change at run time.
import type { Control, NamedControl } from "../controls.js";
import { element, field, make, Refusal } from "./parts.js";

/** A change of one policy, what the operator saw before, and the reason. */
export type Change = Control & { readonly name: string; readonly was: Control; readonly reason: string };

type Attempt = (handle: () => Promise<unknown>) => Promise<boolean>;

/** What each form showed before the operator typed. */
const seen = new WeakMap<HTMLFormElement, NamedControl>();

/** Shows a form for each policy. While an operator edits one, its numbers stay as they were typed. */
export function showPolicies(policies: readonly (Control & { readonly name: string })[], change: (wanted: Change) => Promise<void>, attempt: Attempt): void {
  const box = element("policies");
  for (const policy of policies) {
    const id = `policy-${policy.name}`;
    const form = (document.getElementById(id) as HTMLFormElement | null) ?? addForm(box, id, policy.name, change, attempt);
    if (form.contains(document.activeElement) || form.dataset["edited"] !== undefined) continue;
    fill(form, { ...policy, shadow: policy.shadow === true });
  }
}

function fill(form: HTMLFormElement, policy: NamedControl): void {
  seen.set(form, policy);
  field(form, "capacity").value = String(policy.capacity);
  field(form, "tokens").value = String(policy.tokens);
  field(form, "seconds").value = String(policy.everyMs / 1_000);
  field(form, "shadow").checked = policy.shadow;
}

function addForm(box: HTMLElement, id: string, name: string, change: (wanted: Change) => Promise<void>, attempt: Attempt): HTMLFormElement {
  const form = document.createElement("form");
  form.id = id;
  form.className = "row";
  form.append(make("strong", name), input("capacity", "Capacity", "number"), input("tokens", "Tokens", "number"), input("seconds", "every seconds", "number"), input("shadow", "On trial", "checkbox"));
  const reason = input("reason", "Reason", "text");
  reason.className = "wide";
  form.append(reason, make("button", "Change"));
  Object.assign(field(form, "reason"), { required: true, minLength: 3, maxLength: 200, placeholder: "ticket 4711" });
  Object.assign(field(form, "seconds"), { step: "any" });
  form.addEventListener("input", () => (form.dataset["edited"] = ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const number = (of: string): number => Number(field(form, of).value);
    const wanted = { name, capacity: number("capacity"), tokens: number("tokens"), everyMs: Math.round(1_000 * number("seconds")), shadow: field(form, "shadow").checked };
    void attempt(async () => {
      try {
        await change({ ...wanted, was: seen.get(form) ?? wanted, reason: field(form, "reason").value });
      } catch (error) {
        // Another operator was quicker. What was typed stays, and the next click is about the new numbers.
        if (error instanceof Refusal && error.status === 409) seen.set(form, error.body.now as NamedControl);
        throw error;
      }
      field(form, "reason").value = "";
      delete form.dataset["edited"];
      fill(form, wanted);
    });
  });
  box.append(form);
  return form;
}

function input(name: string, text: string, type: string): HTMLLabelElement {
  const label = make("label", `${text} `);
  const made = document.createElement("input");
  Object.assign(made, { name, type });
  label.append(made);
  return label;
}
