/**
 * Octokit, with the waits of sluice in place of its retry and throttling plugins.
 *
 *   const octokit = createOctokit({ auth });
 *
 * The `Octokit` of the package `octokit` has both plugins inside and takes the same options. A call that is given up
 * throws Octokit's `RequestError`, with the status and the response's header fields.
 */
import { Octokit } from "@octokit/core";
import { retry } from "@octokit/plugin-retry";
import { throttling } from "@octokit/plugin-throttling";
import { createFetch, type ClientOptions } from "sluice/client";

const WithPlugins = Octokit.plugin(retry, throttling);

/** Makes an Octokit. `limits` are options of `createFetch`. */
export function createOctokit(options: { auth?: string; baseUrl?: string }, limits: ClientOptions = {}): Octokit {
  const fetch = createFetch({ giveUp: "return", refusal: readGitHub, ...limits });
  return new WithPlugins({ ...options, request: { fetch }, retry: { enabled: false }, throttle: { enabled: false } });
}

/** GitHub refuses with a 403, too. Where its secondary limit names no wait, GitHub asks for a minute. */
function readGitHub({ status, headers }: Response, body: unknown): { waitMs: number | null } | undefined {
  if (status !== 403 && status !== 429) return undefined;
  if (headers.has("retry-after") || headers.get("x-ratelimit-remaining") === "0") return { waitMs: null };
  return /secondary rate limit/i.test(String((body as { message?: unknown } | null)?.message)) ? { waitMs: 60_000 } : undefined;
}
