// Small parts of the page: elements, fields, messages and requests.

/** The server refused a request. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: { readonly message: string; readonly now?: unknown };

  constructor(status: number, body: { readonly message: string; readonly now?: unknown }) {
    super(body.message);
    this.status = status;
    this.body = body;
  }
}

export function element<T extends HTMLElement>(id: string): T {
  return (document.getElementById(id) ?? document.querySelector(id)) as T;
}

export function field(form: HTMLFormElement, name: string): HTMLInputElement {
  return form.elements.namedItem(name) as HTMLInputElement;
}

export function make<Name extends keyof HTMLElementTagNameMap>(name: Name, text: string): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Says in one line what happened. */
export function say(text: string, state: "good" | "bad" = "good"): void {
  const line = element("message");
  line.dataset["state"] = state;
  line.textContent = text;
}

export async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`/api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const answer = (await response.json()) as T & Refusal["body"];
  if (!response.ok) throw new Refusal(response.status, answer);
  return answer;
}
