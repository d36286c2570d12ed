// The policies whose numbers and mode change at run time.
import type { Control } from "../controls.js";
import { element, field, make } from "./parts.js";

/** A change of one policy, with its reason. */
export type Change = Control & { readonly name: string; readonly reason: string };

/** Shows a form for each policy. While an operator edits one, its numbers stay as they were typed. */
export function showPolicies(policies: readonly (Control & { readonly name: string })[], change: (wanted: Change) => unknown): void {
  const box = element("policies");
  for (const policy of policies) {
    const id = `policy-${policy.name}`;
    const form = (document.getElementById(id) as HTMLFormElement | null) ?? addForm(box, id, policy.name, change);
    if (form.contains(document.activeElement) || form.dataset["edited"] !== undefined) continue;
    field(form, "capacity").value = String(policy.capacity);
    field(form, "tokens").value = String(policy.tokens);
    field(form, "seconds").value = String(policy.everyMs / 1_000);
    field(form, "shadow").checked = policy.shadow === true;
  }
}

function addForm(box: HTMLElement, id: string, name: string, change: (wanted: Change) => unknown): HTMLFormElement {
  const form = document.createElement("form");
  form.id = id;
  form.className = "row";
  form.append(make("strong", name), input("capacity", "Capacity", "number"), input("tokens", "Tokens", "number"), input("seconds", "every seconds", "number"), input("shadow", "On trial", "checkbox"));
  const reason = input("reason", "Reason", "text");
  reason.className = "wide";
  form.append(reason, make("button", "Change"));
  Object.assign(field(form, "reason"), { required: true, minLength: 3, maxLength: 200 });
  Object.assign(field(form, "seconds"), { step: "any" });
  form.addEventListener("input", () => (form.dataset["edited"] = ""));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    delete form.dataset["edited"];
    (document.activeElement as HTMLElement | null)?.blur();
    const number = (of: string): number => Number(field(form, of).value);
    change({ name, capacity: number("capacity"), tokens: number("tokens"), everyMs: Math.round(1_000 * number("seconds")), shadow: field(form, "shadow").checked, reason: field(form, "reason").value });
    field(form, "reason").value = "";
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
