// The clients, each as its documentation shows it first and with its defaults. `waits` fits the file that sets its timers
// (or the source that its map names). `make()` makes a client: it resolves when it has got something and rejects when it gives up.
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import pRetry from "p-retry";
import { Agent, interceptors, request } from "undici";
import { createFetch } from "../../../src/client/index.ts";
import { versionOf } from "../drive.mjs";

const named = (name) => `${name} ${versionOf(name)}`;

export const peers = [
  {
    name: "sluice/client",
    waits: /\/src\/client\/sleep\.ts/,
    make() {
      const fetch = createFetch();
      return (url, method) => fetch(url, { method });
    },
  },
  { name: named("got"), waits: /\/got\/.*\/core\/index\.[jt]s/, make: () => (url, method) => got(url, { method }) },
  { name: named("ky"), waits: /\/ky\/.*\/delay\.[jt]s/, make: () => (url, method) => ky(url, { method }) },
  {
    name: named("axios-retry"),
    waits: /\/axios-retry\//,
    make() {
      const http = axios.create();
      axiosRetry(http);
      return (url, method) => http.request({ url, method });
    },
  },
  {
    name: `${named("undici")} retry`,
    waits: /\/undici\/.*\/retry-handler\.js/,
    make() {
      const dispatcher = new Agent().compose(interceptors.retry());
      return async (url, method) => {
        const { body, statusCode } = await request(url, { method, dispatcher });
        await body.dump();
        if (statusCode >= 400) throw new Error(`${statusCode}`);
      };
    },
  },
  {
    // It knows nothing of HTTP: whoever uses it says what a failure is.
    name: named("p-retry"),
    waits: /\/p-retry\//,
    make: () => (url, method) => pRetry(async () => {
      const response = await fetch(url, { method });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`${response.status}`);
    }),
  },
];
