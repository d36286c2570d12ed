// The test runner "judge" of Stryker: a Vitest that has loaded all tests, and gets one mutant at a time (judge.ts).
import { createVitest } from "vitest/node";

const HANGS_AFTER_MS = 20_000;

class JudgeRunner {
  static inject = ["logger"];
  #log;
  #vitest;
  #channel;
  #isFresh = true;
  #isStained = false;

  constructor(log) {
    this.#log = log;
  }

  capabilities() {
    return { reloadEnvironment: false };
  }

  async init() {
    process.env.NODE_ENV = "test";
    this.#channel = new BroadcastChannel("sluice-mutation");
    const ready = this.#next();
    this.#vitest = await createVitest("test", { config: "test/mutation/vitest.config.ts", watch: false, onConsoleLog: () => false });
    const ended = this.#vitest.start().then(() => {
      const errors = [...this.#vitest.state.getFiles().flatMap(({ result }) => result?.errors ?? []), ...this.#vitest.state.errorsSet];
      throw new Error(`The tests ended: ${errors.map((error) => error?.stack ?? error).join("\n")}`);
    });
    await Promise.race([ready, ended]);
    ended.catch((error) => this.#log.debug(error.message));
  }

  async dryRun() {
    const { tests, coverage, unfit } = await this.#ask({});
    for (const message of unfit) this.#log.warn(`Cannot judge, because it does not pass twice: ${message}`);
    return { status: "complete", tests: tests.map((test) => ({ ...test, status: 0 })), mutantCoverage: coverage };
  }

  async mutantRun({ testFilter, hitLimit, activeMutant }) {
    if (this.#isStained) process.exit(1);
    const isFresh = this.#isFresh;
    this.#isFresh = false;
    const answer = await this.#ask({ mutant: activeMutant.id, tests: testFilter, hitLimit });
    this.#isStained = answer?.isClean !== true && !answer?.survived;
    if (answer === undefined) return { status: "timeout" };
    // Stryker then starts another process and asks it for the same mutant.
    if (this.#isStained && !isFresh) process.exit(1);
    const nrOfTests = testFilter.length;
    if (answer.survived) this.#log.info(`Survived: ${activeMutant.fileName}:${activeMutant.location.start.line + 1}:${activeMutant.location.start.column + 1} ${activeMutant.replacement}`);
    if (answer.survived) return { status: "survived", nrOfTests };
    if (answer.isEndless) return { status: "timeout", reason: answer.message };
    return { status: "killed", killedBy: [answer.killedBy], failureMessage: answer.message, nrOfTests };
  }

  async dispose() {
    this.#channel.postMessage({ end: true });
    this.#channel.close();
    await this.#vitest.close();
  }

  /** The answer, or undefined when no test has begun for 20 s: an endless loop. */
  async #ask(question) {
    const answer = this.#next();
    this.#channel.postMessage(question);
    const given = await answer;
    if (given !== undefined) await this.#next(); // ready for another
    return given;
  }

  #next() {
    return new Promise((resolve) => {
      let alarm;
      const wait = () => {
        clearTimeout(alarm);
        alarm = setTimeout(resolve, HANGS_AFTER_MS);
      };
      this.#channel.onmessage = ({ data }) => {
        if (data.isAlive) return wait();
        clearTimeout(alarm);
        resolve(data);
      };
    });
  }
}

export const strykerPlugins = [{ kind: "TestRunner", name: "judge", injectableClass: JudgeRunner }];
