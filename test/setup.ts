import { configureGlobal } from "fast-check";

configureGlobal({ seed: Number(process.env["FC_SEED"]) });

// The Node adapter warns of what the tests make fail on purpose; other warnings are news.
const emitWarning = process.emitWarning.bind(process) as (...args: unknown[]) => void;
process.emitWarning = (warning: unknown, ...rest: unknown[]): void => {
  if (!(warning instanceof Error)) emitWarning(warning, ...rest);
};
