// The clients. Each is set up like the first example of its documentation, with its defaults. `waits` matches the file
// that sets the client's timers (or the source in its source map). `make()` makes a client. Its calls resolve with an
// answer and reject when the client gives up.
import { ListAccountsCommand, LogoutCommand, SSOClient } from "@aws-sdk/client-sso";
import { Octokit } from "@octokit/core";
import { retry } from "@octokit/plugin-retry";
import { throttling } from "@octokit/plugin-throttling";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import OpenAI from "openai";
import pRetry from "p-retry";
import * as rax from "retry-axios";
import { Agent, request, RetryAgent } from "undici";
import { createFetch } from "../../../src/client/index.ts";
import { triple, xRateLimit } from "../../../src/http/index.ts";
import { versionOf } from "../drive.mjs";

const versionsOf = (...names) => names.map((name) => `${name} ${versionOf(name)}`).join(", ");

/** A client that needs the server's address when it is made. */
function onFirstCall(make, ask) {
  return () => {
    let client;
    return (url, method) => ask((client ??= make(new URL(url).origin)), method, url);
  };
}

const fetchWith = (options) => () => {
  const fetch = createFetch(options);
  return (url, method) => fetch(url, { method });
};

const PluggedOctokit = Octokit.plugin(retry, throttling);
const retryOnce = (_wait, { request: { retryCount } }) => retryCount === 0;
let octokits = 0;

/** The plugins in the order and with the handlers of the package `octokit`. */
const octokitWith = (options) => onFirstCall(
  (baseUrl) => new PluggedOctokit({
    baseUrl,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    // The queues are global and keep the time, which `restart` does not set back. So each client has a separate queue.
    throttle: { id: `octokit-${octokits++}`, onRateLimit: retryOnce, onSecondaryRateLimit: retryOnce },
    ...options,
  }),
  (client, method) => client.request(`${method} /inbox`),
);

const sluice = {
  name: "sluice/client",
  versions: "this one",
  setUp: "`createFetch()`",
  waits: /\/src\/client\/fetch\/sleep\.ts/,
  make: fetchWith({}),
};

const sluiceReturning = { ...sluice, name: "sluice/client, `giveUp: \"return\"`", make: fetchWith({ giveUp: "return" }) };
const sluiceMerging = { ...sluice, name: "sluice/client, `merge: true`", make: fetchWith({ merge: true }) };

const gotPeer = {
  name: "got",
  versions: versionsOf("got"),
  setUp: "`got(url)`",
  waits: /\/got\/.*\/core\/index\.[jt]s/,
  make: () => (url, method) => got(url, { method }),
};

const kyPeer = {
  name: "ky",
  versions: versionsOf("ky"),
  setUp: "`ky(url)`",
  waits: /\/ky\/.*\/delay\.[jt]s/,
  make: () => (url, method) => ky(url, { method }),
};

const axiosRetryPeer = {
  name: "axios-retry",
  versions: versionsOf("axios-retry", "axios"),
  setUp: "`axiosRetry(http)`",
  waits: /\/axios-retry\//,
  make() {
    const http = axios.create();
    axiosRetry(http);
    return (url, method) => http.request({ url, method });
  },
};

const retryAxiosPeer = {
  name: "retry-axios",
  versions: versionsOf("retry-axios", "axios"),
  setUp: "`rax.attach(http)`",
  waits: /\/retry-axios\//,
  make() {
    const http = axios.create();
    rax.attach(http);
    return (url, method) => http.request({ url, method });
  },
};

const undiciPeer = {
  name: "undici",
  versions: versionsOf("undici"),
  setUp: "`request(url, { dispatcher: new RetryAgent(new Agent()) })`",
  waits: /\/undici\/.*\/retry-handler\.js/,
  make() {
    const dispatcher = new RetryAgent(new Agent());
    return async (url, method) => {
      const { body, statusCode } = await request(url, { method, dispatcher });
      await body.dump();
      return { status: statusCode };
    };
  },
};

/** It reads no header. The caller's function decides which answers are failures. */
const pRetryPeer = {
  name: "p-retry",
  versions: versionsOf("p-retry"),
  setUp: "`pRetry(() => fetch(url))`, where the function throws unless `response.ok`",
  waits: /\/p-retry\//,
  make: () => (url, method) => pRetry(async () => {
    const response = await fetch(url, { method });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(response.statusText);
    return response;
  }),
};

const octokitPeer = {
  name: "Octokit",
  versions: versionsOf("@octokit/core", "@octokit/plugin-retry", "@octokit/plugin-throttling"),
  setUp: "both plugins, in the order and with the handlers of the package `octokit`",
  waits: /\/bottleneck\//,
  make: octokitWith({}),
};

/** Its default list and 429, which the throttling plugin then handles. */
const doNotRetry = [400, 401, 403, 404, 410, 422, 429, 451];
const octokitThrottling = {
  ...octokitPeer,
  name: "Octokit, 429 in `doNotRetry`",
  setUp: `the same, with \`retry: { doNotRetry: [${doNotRetry.join(", ")}] }\``,
  make: octokitWith({ retry: { doNotRetry } }),
};

/** On a server with the fields that the throttling plugin reads. */
const octokitOnItsFields = { ...octokitThrottling, name: "the same, server with `X-RateLimit-*`", server: { headers: [triple(), xRateLimit()] } };

const awsPeer = {
  name: "AWS SDK",
  versions: versionsOf("@aws-sdk/client-sso"),
  setUp: "`new SSOClient({ region, endpoint })`; GET is `ListAccounts`, POST is `Logout`",
  waits: /\/@smithy\/core\/.*(?:retry\/index|StandardRetryStrategy|retryMiddleware)\.[jt]s/,
  make: onFirstCall(
    (endpoint) => new SSOClient({ region: "eu-central-1", endpoint }),
    (client, method) => {
      const Command = method === "GET" ? ListAccountsCommand : LogoutCommand;
      return client.send(new Command({ accessToken: "made-up" }));
    },
  ),
};

const openAiPeer = {
  name: "OpenAI SDK",
  versions: versionsOf("openai"),
  setUp: "`new OpenAI({ baseURL, apiKey })`; `client.get(path)` and `client.post(path)`",
  waits: /\/openai\/.*\/sleep\.m?[jt]s/,
  make: onFirstCall(
    (baseURL) => new OpenAI({ baseURL, apiKey: "made-up" }),
    (client, method) => client.request({ method: method.toLowerCase(), path: "/inbox" }),
  ),
};

const httpClients = [sluice, gotPeer, kyPeer, axiosRetryPeer, retryAxiosPeer, undiciPeer];

export const peers = [...httpClients, pRetryPeer, octokitPeer, octokitThrottling, awsPeer, openAiPeer];

/** The same, with the rows that only one table has, each below its client. */
const withRows = (rows) => peers.flatMap((peer) => [peer, ...(rows.get(peer) ?? [])]);
export const onSluiceServers = withRows(new Map([[sluice, [sluiceReturning]], [octokitThrottling, [octokitOnItsFields]]]));
export const inOtherCases = withRows(new Map([[sluice, [sluiceMerging]]]));

/** The clients that read the wait from a refusal, and those that do not. */
export const readers = [...httpClients, awsPeer, openAiPeer];
export const nonReaders = [pRetryPeer, octokitPeer];
