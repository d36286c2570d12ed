import { configureGlobal } from "fast-check";

// The first failure is enough: no reader needs the smallest one.
configureGlobal({ seed: Number(process.env["FC_SEED"]), endOnFailure: true });
