import { defineEventHandler } from "h3-v1";

declare const $fetch: (path: string) => Promise<unknown>; // Nitro's global

export default defineEventHandler(() => $fetch("/inbox").catch(({ status }: { readonly status: number }) => ({ status })));
