import { configureGlobal } from "fast-check";

configureGlobal({ seed: Number(process.env["FC_SEED"]) });
