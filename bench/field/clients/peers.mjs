// The clients, each as its documentation shows it first and with its defaults. `waits` fits the file that sets its timers
// (or the source that its map names).
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import pRetry from "p-retry";
import { Agent, interceptors, request } from "undici";
import { versionOf } from "../drive.mjs";

const withRetry = axios.create();
axiosRetry(withRetry);

const dispatcher = new Agent().compose(interceptors.retry());

/** `ask(url, method)` resolves when the client has got something, and rejects when it has given up. */
export const peers = [
  { name: `got ${versionOf("got")}`, waits: /\/got\/.*\/core\/index\.[jt]s/, ask: (url, method) => got(url, { method }) },
  { name: `ky ${versionOf("ky")}`, waits: /\/ky\/.*\/delay\.[jt]s/, ask: (url, method) => ky(url, { method }) },
  {
    name: `axios-retry ${versionOf("axios-retry")}`,
    waits: /\/axios-retry\//,
    ask: (url, method) => withRetry.request({ url, method }),
  },
  {
    name: `undici ${versionOf("undici")} retry`,
    waits: /\/undici\/.*\/retry-handler\.js/,
    ask: async (url, method) => {
      const { body, statusCode } = await request(url, { method, dispatcher });
      await body.dump();
      if (statusCode >= 400) throw new Error(`${statusCode}`);
    },
  },
  {
    // It knows nothing of HTTP: whoever uses it says what a failure is.
    name: `p-retry ${versionOf("p-retry")}`,
    waits: /\/p-retry\//,
    ask: (url, method) => pRetry(async () => {
      const response = await fetch(url, { method });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
    }),
  },
];
