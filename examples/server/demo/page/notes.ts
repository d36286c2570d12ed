/** What each button does. A note shows while its button has the pointer or the focus, and after each press. */
import type { OnStoreError } from "sluice";
import type { Facts } from "../live.js";

const NOTES = {
  burst: "15 requests at once. The bucket serves what it has tokens for, and refuses the rest.",
  one: "One request takes one token. The answer says how many are left.",
  edge: "A burst just before a fixed window ends, one just after, and then a request for each token.",
  runaway: "20 requests a second. The bucket serves its rate, and refuses the rest.",
  foreground: "Six requests at once, as a phone app sends them. Each waits as long as its 429 says.",
  obeying: "A client that waits as long as Retry-After says. Hardly a request is refused.",
  ignoring: "A client that sends 5 requests a second. It is served no more than the one that obeys.",
  others: "A tablet and a watch send requests. Their buckets are their own: yours does not change.",
  "outage-button": "The server loses its store, until you press again.",
};

const STOPPED: Readonly<Record<string, string>> = {
  runaway: "The 20 requests a second have stopped.",
  obeying: "The client that obeys has stopped.",
  ignoring: "The client that ignores its answers has stopped.",
  others: "The tablet and the watch have stopped.",
  "outage-button": "The store is available again. What was spent before is still spent.",
};

const MEANWHILE: Readonly<Record<OnStoreError, string>> = {
  local: "It decides alone, with half of each limit. A refusal is a 503, not a 429.",
  allow: "It serves all requests.",
  unavailable: "Each request gets a 503, not a 429.",
};

/** Shows notes in the element with the id `note`. Those of presses are also read aloud, from the element `said`. */
export class Notes {
  readonly #facts: Facts;
  /** The note of the last press. */
  #pressed = "Each caller has a bucket of its own.";
  /** The button that has the pointer or the focus, until it is pressed. */
  #pointed: keyof typeof NOTES | null = null;

  constructor(facts: Facts) {
    this.#facts = facts;
    for (const id of Object.keys(NOTES) as (keyof typeof NOTES)[]) {
      const button = element(id);
      button.setAttribute("aria-description", NOTES[id]);
      const point = (): void => this.#point(id);
      const leave = (): void => void (this.#pointed === id && this.#point(null));
      button.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && point());
      button.addEventListener("focus", point);
      button.addEventListener("pointerleave", leave);
      button.addEventListener("blur", leave);
    }
  }

  /** The note of a button that was pressed. `isOn` is the state of a switch. */
  press(id: keyof typeof NOTES, isOn = true): void {
    if (!isOn) this.tell(STOPPED[id] as string);
    else if (id === "outage-button") this.tell(`The server lost its ${this.#facts.store} store. ${MEANWHILE[this.#facts.onStoreError]}`);
    else this.tell(NOTES[id]);
  }

  /** Shows a text and reads it aloud. */
  tell(text: string): void {
    this.count(text);
    element("said").textContent = text;
  }

  /** Shows a text that changes all the time, such as a countdown. It is not read aloud. */
  count(text: string): void {
    this.#pressed = text;
    this.#pointed = null;
    this.#show();
  }

  #point(id: keyof typeof NOTES | null): void {
    this.#pointed = id;
    this.#show();
  }

  #show(): void {
    element("note").textContent = this.#pointed === null ? this.#pressed : NOTES[this.#pointed];
  }
}

function element(id: string): HTMLElement {
  return document.querySelector(`#${id}`) as HTMLElement;
}
