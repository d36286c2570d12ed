/**
 * The refusals of real APIs, one file for each API in `refusals/`: what the client does after each of them. To add an
 * API, add a file, then run `node scripts/refusals.mjs`, which writes `docs/guides/client-apis.md`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { aws, createFetch, gemini, github, openai, parseVendorLimits, RateLimitedError, type Vendor } from "sluice/client";
import { refusalsPage } from "../../scripts/refusals.mjs";

interface Refusal {
  readonly why: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Seconds; or "backoff", "give up" (no wait helps) or "not a refusal" (the caller gets the response). */
  readonly wait: number | "backoff" | "give up" | "not a refusal";
  /** The seconds that the error tells, where they are too many to be believed. */
  readonly told?: number;
}

interface Api {
  readonly api: string;
  readonly vendor: readonly string[];
  /** Where the wait stands, for the table. */
  readonly reads: string;
  readonly sources: readonly string[];
  readonly refusals: readonly Refusal[];
}

const folder = new URL("refusals/", import.meta.url);
const files = readdirSync(folder).filter((name) => name !== "not-seen.json");
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), "utf8"));
const apis = files.map((name) => read(name) as Api);

const NOW = Date.UTC(2026, 7, 15, 12);
// The vendor of docs/guides/client-vendors.md.
const linear: Vendor = {
  limits: parseVendorLimits,
  refusal: ({ status }, body) => (status === 400 && JSON.stringify(body).includes('"RATELIMITED"') ? { waitMs: null } : undefined),
};
const vendors: Readonly<Record<string, Vendor>> = { aws, gemini, github, openai, linear, limits: { limits: parseVendorLimits } };

/** What the client does after a refusal. The random number is 0.5, so a wait of 0 and a backoff differ. */
async function outcomeOf({ status, headers, body }: Refusal, names: readonly string[], maxAttempts = 2): Promise<unknown> {
  const sleeps: number[] = [];
  let sent = 0;
  const fetch = createFetch({
    vendor: names.map((name) => vendors[name] as Vendor),
    maxAttempts,
    maxWaitMs: 1e12,
    time: { wallNow: () => NOW, random: () => 0.5, sleep: async (ms) => void sleeps.push(ms) },
    fetch: async () => {
      sent += 1;
      return sent > 1 ? new Response("ok") : new Response(typeof body === "string" ? body : JSON.stringify(body ?? null), { status, headers });
    },
  });
  try {
    await fetch("https://api.example.com/");
    return sent === 1 ? "not a refusal" : (sleeps[0] as number);
  } catch (error) {
    if (!(error instanceof RateLimitedError)) throw error;
    return error.waitMs === Infinity ? "give up" : { told: error.waitMs };
  }
}

/** Half of the jitter is added, and the least wait is 100 ms. */
function expected({ wait }: Refusal): unknown {
  if (wait === "backoff") return 550;
  if (typeof wait === "string") return wait;
  const ms = Math.max(100, wait * 1_000);
  return Math.ceil(ms + Math.min(Math.max(ms / 10, 100), 1_000) / 2);
}

describe.each(apis.map((api) => [api.api, api] as const))("%s", (_, { vendor, refusals }) => {
  test.each(refusals.map((refusal) => [refusal.why, refusal.wait, refusal] as const))("%s: %s", async (_why, _wait, refusal) => {
    expect(await outcomeOf(refusal, vendor)).toEqual(expected(refusal));
    if (refusal.told !== undefined) expect(await outcomeOf(refusal, vendor, 1)).toEqual({ told: refusal.told * 1_000 });
  });
});

test("at least 45 APIs are seen, each with the address where it was seen", () => {
  expect(apis.length).toBeGreaterThanOrEqual(45);
  for (const { api, sources, refusals } of apis) {
    expect([api, sources.length > 0 && sources.every((source) => URL.canParse(source)), refusals.length > 0]).toEqual([api, true, true]);
  }
});

test("every API that the pages name is seen, or listed as not seen", () => {
  const unseen = (read("not-seen.json") as readonly { readonly api: string }[]).map(({ api }) => api);
  const known = [...apis.map(({ api }) => api), ...unseen].join("\n");
  const named =
    "OpenAI,Azure OpenAI,Anthropic,Gemini,Mistral,Cerebras,OpenRouter,Hugging Face,Runpod,GitHub,GitLab,Bitbucket,Jira,Confluence,Slack,Discord,Telegram,X,Reddit,Google,Microsoft Graph,Salesforce,HubSpot,Stripe,Shopify REST,Shopify GraphQL,BigCommerce,Notion,Airtable,Linear,monday,Asana,Trello,Zendesk,Intercom,SendGrid,Mailgun,Twilio,Docker Hub,npm,Cloudflare,Vercel,Supabase,AWS,Contentful,Strava,Spotify";
  expect(named.split(",").filter((name) => !new RegExp(`\\b${name}\\b`).test(known))).toEqual([]);
});

test("what the table says is read stands in a refusal of the API", () => {
  for (const { api, reads, refusals } of apis) {
    const places = JSON.stringify(refusals).toLowerCase();
    for (const [, name = ""] of reads.matchAll(/`([^`]+)`/g)) {
      expect([api, name, places.includes(`"${name.toLowerCase().split(".").at(-1)}"`)]).toEqual([api, name, true]);
    }
  }
});

test("docs/guides/client-apis.md has a row for each of these files: node scripts/refusals.mjs writes it", () => {
  expect(readFileSync(new URL("../../docs/guides/client-apis.md", import.meta.url), "utf8")).toBe(refusalsPage());
});
