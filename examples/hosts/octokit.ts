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
import { createFetch, github, type ClientOptions } from "sluice/client";

const WithPlugins = Octokit.plugin(retry, throttling);

/** Makes an Octokit. `limits` are options of `createFetch`. */
export function createOctokit(options: { auth?: string; baseUrl?: string }, limits: ClientOptions = {}): Octokit {
  const fetch = createFetch({ giveUp: "return", vendor: github, retryStatuses: [500, 502, 503, 504], ...limits });
  return new WithPlugins({ ...options, request: { fetch }, retry: { enabled: false }, throttle: { enabled: false } });
}
