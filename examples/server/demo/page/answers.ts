/** The last answer: whole in its section, and the fields that matter on the first screen. */
const IN_BRIEF = ["Retry-After", "RateLimit"] as const;

/** Shows answers in the elements with the ids `last` and `brief`. */
export class Answers {
  #received = 0;
  #shown = 0;

  /** Shows an answer. Of several that arrive at once, the last one stays. */
  async show(response: Response): Promise<void> {
    const order = ++this.#received;
    const body = await response.text();
    if (order < this.#shown) return;
    this.#shown = order;
    const status = `${response.status} ${response.statusText}`;
    const fields = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    const brief = IN_BRIEF.filter((name) => response.headers.has(name)).map((name) => `${name}: ${response.headers.get(name)}`);
    element("last").textContent = `${[status, ...fields].join("\n")}\n\n${pretty(body)}`;
    element("brief").textContent = [status, ...brief].join("\n");
    element("brief").dataset["status"] = String(response.status);
  }
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function element(id: string): HTMLElement {
  return document.querySelector(`#${id}`) as HTMLElement;
}
