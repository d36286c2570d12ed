import { definePolicy } from "../../../core/policy.js";
import { draft11, triple } from "../../../http/headers/styles.js";
import type { SyncStore } from "../../../port/store.js";
import { assert, assertEqual } from "../../assert.js";
import { FAULT_TIMEOUT_MS, faultOr, FAULTS, STORE_KINDS } from "./faults.js";
import { checkFields, checkNoFields, checkRefusal } from "../response-checks.js";
import { userKey, type AdapterCase, type CaseOptions, type StartServer } from "../server.js";

const POLICY = definePolicy({ name: "suite", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } });
const ONE_TOKEN = { name: "suite", capacity: 1, refill: { tokens: 1, everyMs: 1_000 } };

const casesByStore: readonly AdapterCase[] = STORE_KINDS.flatMap(([kind, storeOf]) => {
  const gateFunction = (
    name: "key" | "cost" | "policy" | "skip",
    right: NonNullable<CaseOptions[typeof name]>,
    nonsense: Readonly<Record<string, () => unknown>>,
    later: unknown,
  ): AdapterCase => ({
    name: `a \`${name}\` function that fails ends the request with the framework's 500, with ${kind}`,
    cause: "The adapter calls the handler after an error, or the error ends the process. Pass the error to the framework.",
    async run(start) {
      const faults = { ...FAULTS, ...nonsense };
      const answer = right as (request: unknown) => unknown;
      const server = await start({
        ...storeOf(),
        functionTimeoutMs: FAULT_TIMEOUT_MS,
        [name]: (request: Parameters<typeof userKey>[0]) => faultOr(faults, request, () => answer(request)),
      });
      for (const fault of Object.keys(faults)) {
        const response = await server.request("/ok", { headers: { "X-Fault": fault } });
        assertEqual([fault, response.status], [fault, 500], `the status when \`${name}\` ${fault}`);
        checkNoFields(response);
        assertEqual(response.field("Retry-After"), null, "Retry-After");
      }
      assertEqual(server.entered, [], "the requests that reached the handler");
      checkFields(await server.get("/ok"), 200, { remaining: 2 });
      const asynchronous = await start({ ...storeOf(), [name]: async () => later });
      checkFields(await asynchronous.get("/ok"), 200, { remaining: 2 });
    },
  });

  return [
    gateFunction(
      "key",
      userKey,
      { "returns a number": () => 42, "returns an object": () => ({}), "returns NaN in a tuple": () => ["user", Number.NaN] },
      "ann",
    ),
    gateFunction(
      "cost",
      () => 1,
      {
        "returns NaN": () => Number.NaN,
        "returns text": () => "2",
        "returns an object": () => ({ cost: 0 }),
        "answers text later": async () => "2",
      },
      1,
    ),
    gateFunction(
      "policy",
      () => POLICY,
      {
        "returns nothing": () => undefined,
        "returns null": () => null,
        "returns a plain object": () => ({ name: "suite", limits: POLICY.limits }),
      },
      POLICY,
    ),
    gateFunction(
      "skip",
      () => false,
      {
        "returns text": () => "false",
        "returns an object": () => ({}),
        "returns a function": () => () => false,
        "answers text later": async () => "no",
      },
      false,
    ),
    {
      name: `a \`partitionKey\` function that fails ends the request with the framework's 500 and costs nothing, with ${kind}`,
      cause: "The adapter calls the handler after an error, or the error ends the process. Pass the error to the framework.",
      async run(start) {
        const { "never settles": _, ...throwing } = FAULTS;
        const faults = { ...throwing, "returns text": () => "ann", "returns 129 bytes": () => new Uint8Array(129) };
        let fault: string | null = null;
        const partitionKey = (): Uint8Array =>
          (fault === null ? new Uint8Array(128) : (faults as typeof FAULTS)[fault]?.()) as Uint8Array;
        const server = await start({ ...storeOf(), headers: [triple(), draft11({ partitionKey })] });
        for (fault of Object.keys(faults)) {
          const response = await server.get("/ok");
          assertEqual([fault, response.status], [fault, 500], `the status when \`partitionKey\` ${fault}`);
          checkNoFields(response);
        }
        fault = null;
        assertEqual((await server.get("/ok")).field("RateLimit-Remaining"), "2", "RateLimit-Remaining");
        assertEqual(server.entered, ["/ok"], "the requests that reached the handler");
      },
    },
    {
      name: `an \`onDecision\` function that fails changes no response, with ${kind}`,
      cause: "The adapter waits for `onDecision`, or its error ends the process.",
      async run(start) {
        const server = await start({
          ...storeOf(),
          policy: ONE_TOKEN,
          onDecision: (_decision, request) => faultOr(FAULTS, request, () => undefined),
        });
        for (const fault of Object.keys(FAULTS)) {
          const headers = { "X-User": fault, "X-Fault": fault };
          checkFields(await server.request("/ok", { headers }), 200, { capacity: 1, window: 1, remaining: 0 });
          checkRefusal(await server.request("/ok", { headers }), { capacity: 1, window: 1, retryAfter: 1 });
        }
      },
    },
    {
      name: `an \`actualCost\` function that fails leaves the charge and changes no response, with ${kind}`,
      cause: "The adapter waits for the end of the work, or its error ends the process.",
      async run(start) {
        let asked = 0;
        const faults = {
          ...FAULTS,
          "returns text": () => "0",
          "returns NaN": () => Number.NaN,
          "returns a name that no limit has": async () => ({ other: 0 }),
        };
        const server = await start({
          ...storeOf(),
          policy: ONE_TOKEN,
          actualCost: (_outcome, request) => ((asked += 1), faultOr(faults, request, () => undefined)),
        });
        for (const [i, fault] of Object.keys(faults).entries()) {
          const headers = { "X-User": fault, "X-Fault": fault };
          checkFields(await server.request("/ok", { headers }), 200, { capacity: 1, window: 1, remaining: 0 });
          await server.eventually(() => asked === i + 1, "the `actualCost` function to be called");
          checkRefusal(await server.request("/ok", { headers }), { capacity: 1, window: 1, retryAfter: 1 });
        }
      },
    },
    {
      name: `an asynchronous \`actualCost\` function returns the token, with ${kind}`,
      cause: "The adapter ends the work of the verdict never, or before the status is known.",
      run: async (start) => checkReturned(await start({ ...storeOf(), policy: ONE_TOKEN, actualCost: async () => 0 })),
    },
    {
      name: `a client that disconnects while a function is pending does no harm, with ${kind}`,
      cause: "The adapter writes to a response that is closed already.",
      async run(start) {
        for (const pending of ["key", "skip", "cost", "policy"] as const) {
          let waiting = 0;
          let release = (): void => {};
          const held = new Promise<void>((resolve) => (release = resolve));
          const hold = async <T>(value: T): Promise<T> => ((waiting += 1), await held, value);
          const answers = { key: "ann", skip: false, cost: 9, policy: POLICY };
          const server = await start({ ...storeOf(), [pending]: () => hold(answers[pending]) });
          const connection = await server.connect();
          connection.write("GET /ok HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n\r\n");
          await server.eventually(() => waiting === 1, `\`${pending}\` to be called`);
          connection.drop();
          release();
          const { status } = await server.get("/ok");
          assert(
            [200, 400].includes(status),
            `Expected the server to answer after a disconnect during \`${pending}\`, got ${status}`,
          );
        }
      },
    },
  ];
});

/** When a function of the options fails, no handler runs and the process goes on (law L17). */
export const functionCases: readonly AdapterCase[] = [
  ...casesByStore,
  {
    name: "a store without a guard that throws undefined ends the request with the framework's 500",
    cause: "The adapter passes undefined to the framework, which takes it for no error.",
    async run(start) {
      const store: SyncStore = { sync: true, clock: () => 0, ask: FAULTS["throws undefined"] as SyncStore["ask"] };
      const server = await start({ store });
      assertEqual((await server.get("/ok")).status, 500, "the status");
      const later = await start({ store, key: async () => "ann" });
      assertEqual((await later.get("/ok")).status, 500, "the status after an asynchronous `key`");
      assertEqual([...server.entered, ...later.entered], [], "the requests that reached the handler");
    },
  },
];

async function checkReturned(server: Awaited<ReturnType<StartServer>>): Promise<void> {
  // A refused request takes no token, so the case may repeat it.
  for (let i = 0; i < 3; i++) {
    let status = 0;
    for (let tries = 0; status !== 200 && tries < 500; tries++) ({ status } = await server.get("/ok"));
    assertEqual(status, 200, "the status after the token was returned");
  }
}
