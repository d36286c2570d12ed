/** Where the outcome of a piece of work goes. Called once; does not throw, since many are called one after the other. */
export interface Asker<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** A piece of work, and who is told what came of it. */
export interface Work<Answer> {
  /** How much of a call it takes. */
  readonly size: number;
  readonly asker: Asker<Answer>;
}

/** Answers a batch: one entry for each piece of work, in order; an error fails that piece alone. */
export type SendBatch<Piece, Answer> = (batch: readonly Piece[]) => Promise<ReadonlyArray<Answer | Error>>;

/**
 * Gathers work into calls: what is asked for in one tick travels together, and so does what arrives while enough calls are
 * under way.
 *
 * While fewer are under way than `mostUnderWay`, a call leaves at the end of the tick, so that few callers wait for nobody;
 * and while none is, as soon as a quarter of `largest` have gathered, so that the server decides while the client gathers more.
 * From then on work gathers until one comes back, or until `largest` have gathered. No call carries more than
 * that, by the sizes that come with the work, unless one piece alone does. A call that fails, fails each of its
 * pieces, and no other. What waits here is sent and counts even when whoever asked has given up meanwhile, and calls that
 * hang hold back what came after them until `largest` have gathered: give the client a deadline.
 */
export class Batcher<Piece extends Work<Answer>, Answer> {
  readonly #send: SendBatch<Piece, Answer>;
  readonly #largest: number;
  readonly #enough: number;
  readonly #mostUnderWay: number;
  readonly #endOfTick = (): void => {
    this.#scheduled = false;
    this.#flush();
  };
  #waiting: Piece[] = [];
  #size = 0;
  #underWay = 0;
  #scheduled = false;

  constructor(send: SendBatch<Piece, Answer>, largest: number, mostUnderWay: number) {
    this.#send = send;
    this.#largest = largest;
    this.#enough = Math.ceil(largest / 4);
    this.#mostUnderWay = mostUnderWay;
  }

  /** Takes on `work`, whose asker will be told. */
  add(work: Piece): void {
    if (this.#size + work.size > this.#largest) this.#flush();
    this.#waiting.push(work);
    this.#size += work.size;
    if (this.#size >= (this.#underWay === 0 ? this.#enough : this.#largest)) this.#flush();
    else if (!this.#scheduled && this.#underWay < this.#mostUnderWay) {
      this.#scheduled = true;
      void endOfTick.then(this.#endOfTick);
    }
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#size = 0;
    this.#underWay += 1;
    void this.#deliver(batch);
  }

  async #deliver(batch: readonly Piece[]): Promise<void> {
    let tell: (work: Piece, place: number) => void;
    try {
      const answers = await this.#send(batch);
      tell = ({ asker }, place) => {
        const answer = answers[place] as Answer | Error;
        if (answer instanceof Error) asker.reject(answer);
        else asker.resolve(answer);
      };
    } catch (error) {
      tell = ({ asker }) => asker.reject(error);
    }
    try {
      batch.forEach(tell);
    } finally {
      this.#underWay -= 1;
      // What gathered meanwhile leaves now, whether or not other calls are still out.
      this.#flush();
    }
  }
}

// A reaction to a promise that is there already: cheaper than queueMicrotask, which Node wraps.
const endOfTick = Promise.resolve();
