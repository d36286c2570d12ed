/** Reports in flight: slow requests of one caller, of which two may run at once. */
import type { Places } from "../live.js";
import { identityOf } from "./clients.js";

const KEPT = 6;
const NO_ANSWER: Places = { month: null, parallel: null };

/** Shows reports in the section of the page with the ids `reports`, `report-rows`, `report-places` and `report-month`. */
export class Reports {
  readonly #caller: () => string;
  readonly #onAnswer: (response: Response) => void;
  #asked = 0;

  constructor(caller: () => string, onAnswer: (response: Response) => void) {
    this.#caller = caller;
    this.#onAnswer = onAnswer;
  }

  /** Asks for three reports at once. */
  async ask(): Promise<void> {
    await Promise.all([1, 2, 3].map(() => this.#one()));
  }

  /** Shows what is left to the caller. */
  async read(): Promise<void> {
    const places = await fetch("/live/places", { headers: identityOf(this.#caller()) }).then((response) => response.json() as Promise<Places>, () => NO_ANSWER);
    for (const [id, reading] of [["report-places", places.parallel], ["report-month", places.month]] as const) {
      element(id).textContent = reading === null ? "?" : String(reading);
    }
  }

  async #one(): Promise<void> {
    const row = document.createElement("li");
    const name = `Report ${++this.#asked}`;
    const tell = (state: "runs" | "done" | "refused" | "failed", text: string): void => {
      row.dataset["state"] = state;
      row.textContent = `${name}: ${text}`;
    };
    tell("runs", "in flight");
    const rows = element("report-rows");
    rows.append(row);
    while (rows.childElementCount > KEPT) rows.firstElementChild?.remove();
    try {
      const answer = fetch("/reports", { method: "POST", headers: identityOf(this.#caller()) });
      void answer.then(() => this.read(), () => undefined);
      const response = await answer;
      if (response.ok) tell("done", "done");
      else if (response.status === 429) tell("refused", await reasonOf(response.clone()));
      else tell("failed", `${response.status}`);
      this.#onAnswer(response);
    } catch {
      tell("failed", "no answer");
    }
    await this.read();
  }
}

async function reasonOf(response: Response): Promise<string> {
  const { "violated-policies": [violated = ""] = [] } = (await response.json()) as { readonly "violated-policies"?: readonly string[] };
  const seconds = Number(response.headers.get("retry-after"));
  return `refused by ${violated.split(":").at(-1)}, ask again in ${seconds.toLocaleString("en")} s`;
}

function element(id: string): HTMLElement {
  return document.querySelector(`#${id}`) as HTMLElement;
}
