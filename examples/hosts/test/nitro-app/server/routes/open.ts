import { defineEventHandler } from "h3-v1";

export default defineEventHandler(() => ({ path: "open" }));
