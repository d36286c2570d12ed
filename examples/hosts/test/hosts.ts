// Each host: how it is opened, what it asks, and where it shows an answer, a refusal and an abort.
import type { RequestListener } from "node:http";
import { environmentManager, MutationObserver, QueryObserver } from "@tanstack/react-query";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import type { ClientOptions } from "sluice/client";
import { createAnthropic } from "../anthropic.js";
import { createHttp } from "../ky.js";
import { createOctokit } from "../octokit.js";
import { createOpenAI } from "../openai.js";
import { createApi as createOpenApi } from "../openapi-fetch.js";
import { createQueries } from "../tanstack-query.js";
import { createApi as createTRPC } from "../trpc.js";
import { appRouter } from "../trpc-router.js";
import { always } from "./world.js";
import type { HeaderSource } from "../../../src/http/retry-after/retry-after.js";

/** One host under test. */
export interface Host {
  /** What the server behind it answers. */
  readonly listener: RequestListener;
  open(url: string, limits: ClientOptions): {
    /** A request that may be repeated. */
    read(signal: AbortSignal): Promise<unknown>;
    /** A request that is sent once. */
    post(): Promise<unknown>;
  };
  /** What `read` gives when it is admitted. */
  readonly answer: object;
  /** The class of what a refused call gives. */
  readonly refusal: string;
  /** Where the host keeps the refusal's response. */
  responseOf(refusal: never): { readonly status: number; readonly headers: HeaderSource };
  /** The class of the error of an aborted call. */
  readonly aborted: string;
  /** Whether the recipe repeats a 500, as the host does by itself. */
  readonly repeatsServerErrors?: true;
}

// TanStack Query retries in browsers alone, unless told.
environmentManager.setIsServer(() => false);

const messages = ["hello"];
const inbox = { messages };
const question = { model: "small", messages: [{ role: "user" as const, content: "hello" }] };
const once: ClientOptions = { methods: ["GET"] };

interface Paths {
  "/inbox": { put: Answer; post: Answer; get: never };
}
interface Answer {
  requestBody: { content: { "application/json": { read: boolean } } };
  responses: { 200: { content: { "application/json": typeof inbox } }; 429: { content: { "application/problem+json": { code: string } } } };
}

/** By the name of the package. */
export const hosts: Readonly<Record<string, Host>> = {
  openai: {
    listener: always({ object: "chat.completion", choices: [] }),
    open: (baseURL, limits) => ({
      read: (signal) => createOpenAI({ apiKey: "none", baseURL }, limits).chat.completions.create(question, { signal }),
      post: () => createOpenAI({ apiKey: "none", baseURL }, { ...limits, ...once }).chat.completions.create(question),
    }),
    answer: { object: "chat.completion" },
    refusal: "RateLimitError",
    responseOf: (error: { status: number; headers: Headers }) => error,
    aborted: "APIUserAbortError",
    repeatsServerErrors: true,
  },
  "@anthropic-ai/sdk": {
    listener: always({ type: "message", content: [] }),
    open: (baseURL, limits) => ({
      read: (signal) => createAnthropic({ apiKey: "none", baseURL }, limits).messages.create({ ...question, max_tokens: 1 }, { signal }),
      post: () => createAnthropic({ apiKey: "none", baseURL }, { ...limits, ...once }).messages.create({ ...question, max_tokens: 1 }),
    }),
    answer: { type: "message" },
    refusal: "RateLimitError",
    responseOf: (error: { status: number; headers: Headers }) => error,
    aborted: "APIUserAbortError",
    repeatsServerErrors: true,
  },
  "@octokit/core": {
    listener: always({ login: "ada" }),
    open: (baseUrl, limits) => {
      const octokit = createOctokit({ baseUrl }, limits);
      return {
        read: (signal) => octokit.request("GET /user", { request: { signal } }),
        post: () => octokit.request("POST /user/repos", { name: "sluice" }),
      };
    },
    answer: { status: 200, data: { login: "ada" } },
    refusal: "RequestError",
    responseOf: (error: { status: number; response: { headers: Record<string, string> } }) => ({ ...error.response, status: error.status }),
    aborted: "DOMException",
    repeatsServerErrors: true,
  },
  ky: {
    listener: always(inbox),
    open: (prefixUrl, limits) => {
      const http = createHttp({ prefixUrl }, limits);
      return {
        read: (signal) => http.put("inbox", { json: { read: true }, signal }).json(),
        post: () => http.post("inbox", { json: { read: true } }).json(),
      };
    },
    answer: inbox,
    refusal: "HTTPError",
    responseOf: (error: { response: Response }) => error.response,
    aborted: "DOMException",
    repeatsServerErrors: true,
  },
  "openapi-fetch": {
    listener: always(inbox),
    open: (url, limits) => {
      const api = createOpenApi<Paths>(url, limits);
      return {
        read: (signal) => api.PUT("/inbox", { body: { read: true }, signal }),
        post: () => api.POST("/inbox", { body: { read: true } }),
      };
    },
    answer: { data: inbox },
    refusal: "Object",
    responseOf: ({ error, response }: { error: { code: string }; response: Response }) => ({ status: error.code === "rate_limited" ? response.status : 0, headers: response.headers }),
    aborted: "DOMException",
  },
  "@tanstack/react-query": {
    listener: always(inbox),
    open: (url, limits) => {
      const { queryClient, read, send } = createQueries(limits);
      let queries = 0;
      return {
        // As `useQuery` does, until the component is unmounted.
        read: (signal) => {
          const query = read(`${url}/inbox?${queries++}`);
          const unmount = new QueryObserver(queryClient, query).subscribe(() => undefined);
          signal.addEventListener("abort", unmount);
          return queryClient.getQueryCache().find(query)?.promise as Promise<unknown>;
        },
        post: () => new MutationObserver(queryClient, send(`${url}/inbox`)).mutate({ read: true }),
      };
    },
    answer: inbox,
    refusal: "RateLimitedError",
    responseOf: (error: { response: Response }) => error.response,
    aborted: "CancelledError",
  },
  "@trpc/client": {
    listener: createHTTPHandler({ router: appRouter }),
    open: (url, limits) => {
      const api = createTRPC(url, limits);
      return { read: (signal) => api.inbox.query(undefined, { signal }), post: () => api.clear.mutate() };
    },
    answer: inbox,
    refusal: "TRPCClientError",
    responseOf: (error: { cause: { response: Response } }) => error.cause.response,
    aborted: "TRPCClientError",
  },
};
