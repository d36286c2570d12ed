// The test runner "judge" of Stryker: a Vitest that has loaded all tests, and gets one mutant at a time (judge.ts).
import { createVitest } from "vitest/node";

class JudgeRunner {
  static inject = ["logger"];
  #log;
  #vitest;
  #channel;
  #heard;
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
    this.#isStained = answer.isClean === false;
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

  async #ask(question) {
    const answer = this.#next();
    this.#channel.postMessage(question);
    const given = await answer;
    await this.#next(); // ready for another
    return given;
  }

  #next() {
    return new Promise((resolve) => {
      const queue = (this.#heard ??= []);
      queue.push(resolve);
      this.#channel.onmessage = ({ data }) => queue.shift()?.(data);
    });
  }
}

export const strykerPlugins = [{ kind: "TestRunner", name: "judge", injectableClass: JudgeRunner }];
