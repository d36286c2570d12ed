import { configureGlobal } from "fast-check";

// The first failure will do: nobody reads the smallest one.
configureGlobal({ seed: Number(process.env["FC_SEED"]), endOnFailure: true });
