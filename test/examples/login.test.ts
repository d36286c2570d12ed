import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../examples/login/express.js";
import { login } from "../../examples/login/web.js";

const HOUR = 3_600_000;

/** A caller: where it calls from, and the cookie that it sends. */
interface From {
  readonly network?: string;
  cookie?: string;
}

/** The parts that both servers need, and the networks by their names in a test. */
function setup() {
  const clock = new ManualClock();
  const checked: string[] = [];
  const check = async (email: string, password: string) => (checked.push(email), password === `${email}'s secret`);
  const networks: string[] = [];
  const addressIn = (network: string): string => {
    if (!networks.includes(network)) networks.push(network);
    const n = networks.indexOf(network);
    return `10.${n >> 8}.${n & 255}.7`;
  };
  return { clock, checked, addressIn, options: { check, secret: "test", store: new MemoryStore({ clock: clock.now }) } };
}

type Send = (fields: object, address: string, cookie: string, signal?: AbortSignal) => Promise<Response>;

const servers: Readonly<Record<string, (options: ReturnType<typeof setup>["options"]) => Promise<Send>>> = {
  async web(options) {
    const addresses = new WeakMap<Request, string>();
    const handle = login({ ...options, addressOf: (request) => addresses.get(request) });
    return (fields, address, cookie, signal) => {
      const request = new Request("http://127.0.0.1/login", { method: "POST", body: new URLSearchParams(fields as Record<string, string>), signal: signal ?? null, headers: { Cookie: cookie } });
      addresses.set(request, address);
      return handle(request);
    };
  },
  async Express(options) {
    const server = createServer(createApp(options)).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/login`;
    // The app trusts one proxy, and this is it.
    return (fields, address, cookie) =>
      fetch(url, { method: "POST", body: JSON.stringify(fields), headers: { "Content-Type": "application/json", "X-Forwarded-For": address, Cookie: cookie } });
  },
};

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

describe.each(Object.entries(servers))("%s", (_, serve) => {
  async function door() {
    const { clock, checked, addressIn, options } = setup();
    const send = await serve(options);
    /** Logs in, and keeps the cookie as a browser does. */
    const enter = async (email: string, password: string, from: From = {}): Promise<number> => {
      const response = await send({ email, password }, addressIn(from.network ?? "home"), from.cookie ?? "");
      await response.text();
      const [cookie] = response.headers.getSetCookie();
      if (cookie !== undefined) {
        from.cookie = cookie.slice(0, cookie.indexOf(";"));
        for (const part of ["HttpOnly", "Secure", "SameSite=Strict", "Max-Age=31536000"]) expect(cookie).toContain(part);
      }
      return response.status;
    };
    const guess = async (email: string, count: number, from: From = {}): Promise<number[]> => {
      const statuses: number[] = [];
      for (let i = 0; i < count; i++) statuses.push(await enter(email, `guess ${i}`, from));
      return statuses;
    };
    return { clock, send, enter, guess, checked };
  }

  test("a caller with the right password is never refused", async () => {
    const { enter } = await door();
    const known = {};
    for (let i = 0; i < 20; i++) expect([await enter("ann", "ann's secret"), await enter("ann", "ann's secret", known)]).toEqual([204, 204]);
  });

  test("a stranger cannot tell an account that others tried from one that no caller tried", async () => {
    const { send, guess } = await door();
    for (const network of ["n1", "n2", "n3"]) await guess("ann", 4, { network });
    const answerFor = async (email: string, address: string) => {
      const response = await send({ email, password: "guess" }, address, "");
      const { date: _, ...fields } = Object.fromEntries(response.headers);
      return [response.status, fields, await response.text()];
    };
    const told = await answerFor("ann", "192.0.2.1");
    expect(told).toEqual(await answerFor("bob", "192.0.2.2"));
    expect(Object.keys(told[1] as object).filter((name) => /limit/i.test(name))).toEqual([]);
  });

  test("a refusal still says when to try again, and which limit refused", async () => {
    const { send, guess } = await door();
    await guess("ann", 5);
    const { status, headers } = await send({ email: "ann", password: "guess" }, "10.0.0.7", "");
    expect([status, headers.get("retry-after"), [...headers.keys()].filter((name) => name.startsWith("ratelimit"))]).toEqual([429, "720", []]);
  });

  test("five wrong passwords from one network, and the account rests for it; another's does not", async () => {
    const { clock, enter, guess, checked } = await door();
    expect(await guess("ann", 7)).toEqual([...times(5, 401), 429, 429]);
    expect(checked).toHaveLength(5);
    expect(await enter("bob", "bob's secret")).toBe(204);
    clock.advance(HOUR / 5);
    expect(await guess("ann", 2)).toEqual([401, 429]);
  });

  test("a right password gives back its own attempt, not those before it", async () => {
    const { enter, guess } = await door();
    expect(await guess("ann", 4)).toEqual(times(4, 401));
    expect(await enter("ann", "ann's secret")).toBe(204);
    expect(await guess("ann", 2)).toEqual([401, 429]);
  });

  test("guesses at one time, and other spellings, get no more than five between them", async () => {
    const { guess, checked } = await door();
    const spellings = ["ann", "Ann", "ANN", " ann ", "ａｎｎ", "Ａnn", "\u{1d5ae}nn".replace("\u{1d5ae}", "\u{1d5ba}")];
    const statuses = (await Promise.all(Array.from({ length: 42 }, (_, i) => guess(spellings[i % spellings.length] as string, 1)))).flat();
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(checked).toEqual(["ann", "ann", "ann", "ann", "ann"]);
  });

  test("guesses refused by the account's limit cost their network nothing", async () => {
    const { clock, guess } = await door();
    for (const network of ["n1", "n2", "n3", "n4"]) await guess("ann", 5, { network });
    expect(await guess("ann", 5, { network: "home" })).toEqual(times(5, 429));
    clock.advance(HOUR);
    expect(await guess("ann", 6, { network: "home" })).toEqual([...times(5, 401), 429]);
  });

  test("one password at many accounts: a network gets 100 guesses in an hour, and a known browser in it is not slowed", async () => {
    const { clock, enter, guess, checked } = await door();
    const known: From = {};
    expect(await enter("ann", "ann's secret", known)).toBe(204);
    checked.splice(0);
    for (let i = 0; i < 102; i++) await guess(`victim ${i}`, 1);
    expect(checked).toHaveLength(100);
    expect([await enter("ann", "ann's secret", known), await enter("bob", "bob's secret"), await enter("bob", "bob's secret", { network: "work" })]).toEqual([204, 429, 204]);
    clock.advance(HOUR - 1);
    expect(await enter("bob", "bob's secret")).toBe(429);
    clock.advance(1);
    expect(await enter("bob", "bob's secret")).toBe(204);
  });

  test("without an e-mail address nothing is checked", async () => {
    const { send, checked } = await door();
    for (const fields of [{}, { email: "" }, { email: "  ", password: "guess" }]) expect((await send(fields, "10.0.0.1", "")).status).toBe(401);
    expect(checked).toEqual([]);
  });

  describe("an attacker", () => {
    test("guesses at most 20 + 20 T times in T hours, from any networks, while the owner gets in", { timeout: 60_000 }, async () => {
      const { clock, enter, guess, checked } = await door();
      const phone: From = { network: "home" };
      expect(await enter("ann", "ann's secret", phone)).toBe(204);
      checked.splice(0);

      let sent = 0;
      let owner = 0;
      for (let hour = 0; hour < 6; hour++) {
        for (let i = 0; i < 42; i++) {
          const cookie = `__Host-browser=${i}-${hour}.forged; browser=${phone.cookie?.split("=")[1]}x`;
          expect([401, 429]).toContain((await guess(i % 2 === 0 ? "ann" : " ANN", 1, { network: `network ${sent}`, cookie }))[0]);
          sent++;
        }
        expect(checked.length - owner).toBeLessThanOrEqual(20 + 20 * hour);
        expect(await enter("ann", "wrong, a slip", phone)).toBe(401);
        expect(await enter("ann", "ann's secret", phone)).toBe(204);
        owner += 2;
        clock.advance(HOUR);
      }
      expect(sent).toBe(252);
      // It had all of them: the bound is no larger than it needs to be.
      expect(checked.length - owner).toBe(20 + 20 * 5);
    });

    test("in up to three networks does not slow down another network, not even a new device in it", async () => {
      const { clock, enter, guess } = await door();
      for (let hour = 0; hour < 4; hour++) {
        for (const network of ["n1", "n2", "n3"]) await guess("ann", 10, { network });
        expect(await enter("ann", "a slip", { network: "hotel" })).toBe(401);
        expect(await enter("ann", "ann's secret", { network: "hotel" })).toBe(204);
        clock.advance(HOUR);
      }
    });

    test("with an account of its own gets no bucket at another's", async () => {
      const { enter, guess, checked } = await door();
      const own: From = {};
      expect(await enter("eve", "eve's secret", own)).toBe(204);
      for (const network of ["n1", "n2", "n3", "n4"]) await guess("ann", 5, { network });
      checked.splice(0);
      expect(await guess("ann", 5, { network: "n5", ...own })).toEqual(times(5, 429));
      expect(checked).toEqual([]);
    });

    test("who stole a browser's cookie has that browser's five guesses, and no new ones by logging in", async () => {
      const { enter, guess } = await door();
      const phone: From = {};
      await enter("ann", "ann's secret", phone);
      const { cookie } = phone;
      await enter("ann", "ann's secret", phone);
      expect(phone.cookie).toBe(cookie);
      const stolen = Array.from({ length: 9 }, (_, i): From => ({ network: `n${i}`, ...(cookie !== undefined && { cookie }) }));
      const statuses = (await Promise.all(stolen.map((from) => guess("ann", 1, from)))).flat();
      expect(statuses.filter((status) => status === 401)).toHaveLength(5);
      // The owner's other browsers have their own.
      expect(await enter("ann", "ann's secret", { network: "work" })).toBe(204);
    });
  });
});

describe("web: one network guesses at other accounts at most 100 times in any hour, whatever it did before", () => {
  const MINUTE = 60_000;

  interface Preparation {
    /** How long each login to an account of the attacker takes. */
    readonly workMs: number;
    readonly everyMs: number;
    readonly forMs: number;
  }

  /** The times at which a guess was checked. The attacker logs in to its own accounts as often as it can, and then guesses. */
  async function wrongGuesses({ workMs, everyMs, forMs }: Preparation): Promise<readonly number[]> {
    const { clock, options } = setup();
    const wrong: number[] = [];
    const begun = new Map<string, () => Promise<void>>();
    const send = await (servers["web"] as (typeof servers)[string])({
      ...options,
      async check(email, password) {
        if (!email.startsWith("own ")) return wrong.push(clock.now()) === 0;
        await begun.get(password)?.();
        return true;
      },
    });

    let count = 0;
    const underWay: Array<{ readonly until: number; readonly end: () => Promise<unknown> }> = [];
    /** Begins a login, and returns whether it was allowed. */
    const begin = async (): Promise<boolean> => {
      const password = `${count++}`;
      let answer: Promise<Response> | undefined;
      const entered = new Promise<true>((enter) => {
        begun.set(password, () => new Promise((finish) => {
          underWay.push({ until: clock.now() + workMs, end: async () => (finish(), (await answer)?.text()) });
          enter(true);
        }));
      });
      answer = send({ email: `own ${count % 60}`, password }, "10.0.0.7", "");
      return (await Promise.race([entered, answer])) === true;
    };
    const endDone = async (): Promise<void> => {
      while (underWay[0] !== undefined && underWay[0].until <= clock.now()) await underWay.shift()?.end();
    };

    const start = clock.now();
    for (; clock.now() < start + forMs; clock.advance(everyMs)) {
      await endDone();
      while (await begin());
    }
    for (const until = clock.now() + 3 * HOUR; clock.now() < until; clock.advance(MINUTE)) {
      await endDone();
      while ((await send({ email: `victim ${count++}`, password: "guess" }, "10.0.0.7", "")).status === 401);
    }
    return wrong;
  }

  test.each<[string, Preparation]>([
    ["nothing", { workMs: 0, everyMs: MINUTE, forMs: 0 }],
    ["logins of 4 minutes that overlap, for 2 hours", { workMs: 4 * MINUTE, everyMs: 2 * MINUTE, forMs: 2 * HOUR }],
    ["logins of 50 minutes that overlap, for a day", { workMs: 50 * MINUTE, everyMs: 10 * MINUTE, forMs: 24 * HOUR }],
    ["logins of 90 minutes, for a day", { workMs: 90 * MINUTE, everyMs: 10 * MINUTE, forMs: 24 * HOUR }],
  ])("%s", async (_, preparation) => {
    const times = await wrongGuesses(preparation);
    const most = Math.max(...times.map((from) => times.filter((time) => time >= from && time < from + HOUR).length));
    // It had all of them: the bound is no larger than it needs to be.
    expect(most).toBe(100);
  });
});

test("web: an attempt whose client disconnects before the answer is not given back", async () => {
  const { options } = setup();
  const send = await (servers["web"] as (typeof servers)[string])(options);
  for (const password of ["guess", "ann's secret", "guess", "ann's secret", "guess"]) {
    const client = new AbortController();
    const answer = send({ email: "ann", password }, "10.0.0.1", "", client.signal);
    await Promise.resolve().then(() => client.abort());
    await answer.catch(() => undefined);
  }
  expect((await send({ email: "ann", password: "ann's secret" }, "10.0.0.1", "")).status).toBe(429);
});

test("Express: an attempt whose client disconnects before the answer is not given back, and only a text is an e-mail address", async () => {
  const { options } = setup();
  const steps = new EventEmitter();
  const app = createApp({
    ...options,
    async check(email, password) {
      if (!closedAll) {
        steps.emit("checking");
        await once(steps, "closed all");
      }
      return options.check(email, password);
    },
  });
  let closedAll = false;
  const closed: Promise<unknown>[] = [];
  const server = createServer((request, response) => {
    closed.push(once(response, "close"));
    app(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const send = (fields: object, signal: AbortSignal | null = null) =>
    fetch(`http://127.0.0.1:${port}/login`, { method: "POST", body: JSON.stringify(fields), headers: { "Content-Type": "application/json" }, signal });

  for (let i = 0; i < 5; i++) {
    const client = new AbortController();
    const checking = once(steps, "checking");
    const answer = send({ email: "ann", password: "ann's secret" }, client.signal).catch(() => undefined);
    await checking;
    client.abort();
    await answer;
  }
  await Promise.all(closed);
  closedAll = true;
  steps.emit("closed all");
  expect((await send({ email: "ann", password: "ann's secret" })).status).toBe(429);
  expect((await send({ email: ["bob"], password: "bob's secret" })).status).toBe(401);
});
