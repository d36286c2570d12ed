import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { login } from "../../examples/login/login.js";

const HOUR = 3_600_000;

/** A caller: where it calls from, and the cookie that it sends. */
interface From {
  readonly network?: string;
  cookie?: string;
}

function door() {
  const clock = new ManualClock();
  const checked: string[] = [];
  const check = async (account: string, password: string) => {
    checked.push(account);
    return password === `${account}'s secret`;
  };
  const handle = login(check, { secret: "test", networkOf: (request) => request.headers.get("test-network") ?? "", store: new MemoryStore({ clock: clock.now }) });

  const post = (body: BodyInit | null, { network = "home", cookie = "" }: From, signal: AbortSignal | null = null): Promise<Response> =>
    handle(new Request("http://127.0.0.1/login", { method: "POST", body, signal, headers: { "test-network": network, Cookie: cookie } }));
  /** Logs in, and keeps the cookie as a browser does. */
  const enter = async (account: string, password: string, from: From = {}): Promise<number> => {
    const response = await post(new URLSearchParams({ account, password }), from);
    await response.text();
    const [cookie] = response.headers.getSetCookie();
    if (cookie !== undefined) from.cookie = cookie.slice(0, cookie.indexOf(";"));
    return response.status;
  };
  const guess = async (account: string, times: number, from: From = {}): Promise<number[]> => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push(await enter(account, `guess ${i}`, from));
    return statuses;
  };
  return { clock, post, enter, guess, checked };
}

const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

test("who logs in as often as they like is never refused", async () => {
  const { enter } = door();
  const known = {};
  for (let i = 0; i < 20; i++) expect([await enter("ann", "ann's secret"), await enter("ann", "ann's secret", known)]).toEqual([204, 204]);
});

test("five wrong passwords from one network, and the account rests for it; another's does not", async () => {
  const { clock, enter, guess, checked } = door();
  expect(await guess("ann", 7)).toEqual([...times(5, 401), 429, 429]);
  expect(checked).toHaveLength(5);
  expect(await enter("bob", "bob's secret")).toBe(204);
  clock.advance(HOUR / 5);
  expect(await guess("ann", 2)).toEqual([401, 429]);
});

test("a right password gives back its own attempt, not those before it", async () => {
  const { enter, guess } = door();
  expect(await guess("ann", 4)).toEqual(times(4, 401));
  expect(await enter("ann", "ann's secret")).toBe(204);
  expect(await guess("ann", 2)).toEqual([401, 429]);
});

test("an attempt whose client disconnects before the answer is not given back", async () => {
  const { post, enter } = door();
  for (const password of ["guess", "ann's secret", "guess", "ann's secret", "guess"]) {
    const client = new AbortController();
    const answer = post(new URLSearchParams({ account: "ann", password }), {}, client.signal);
    await Promise.resolve().then(() => client.abort());
    await answer.catch(() => undefined);
  }
  expect(await enter("ann", "ann's secret")).toBe(429);
});

test("guesses at one time, and other spellings, get no more than five between them", async () => {
  const { guess, checked } = door();
  const spellings = ["ann", "Ann", "ANN", " ann ", "ａｎｎ", "Ａnn", "\u{1d5ae}nn".replace("\u{1d5ae}", "\u{1d5ba}")];
  const statuses = (await Promise.all(Array.from({ length: 42 }, (_, i) => guess(spellings[i % spellings.length] as string, 1)))).flat();
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(checked).toEqual(["ann", "ann", "ann", "ann", "ann"]);
});

test("guesses refused by the account's limit cost their network nothing", async () => {
  const { clock, guess } = door();
  for (const network of ["n1", "n2", "n3", "n4"]) await guess("ann", 5, { network });
  expect(await guess("ann", 5, { network: "home" })).toEqual(times(5, 429));
  clock.advance(HOUR);
  expect(await guess("ann", 6, { network: "home" })).toEqual([...times(5, 401), 429]);
});

test("a body that is no form is a wrong password, and no error", async () => {
  const { post, checked } = door();
  for (const body of [null, "{}", JSON.stringify({ account: "ann" })]) expect((await post(body, {})).status).toBe(401);
  expect(checked).toEqual(["", "", ""]);
});

describe("an attacker", () => {
  test("guesses at most 20 + 20 T times in T hours, from any networks, while the owner gets in", { timeout: 60_000 }, async () => {
    const { clock, enter, guess, checked } = door();
    const phone: From = { network: "home" };
    expect(await enter("ann", "ann's secret", phone)).toBe(204);
    checked.splice(0);

    let sent = 0;
    let owner = 0;
    for (let minute = 0; minute < 24 * 60; minute += 60) {
      for (let i = 0; i < 84; i++) {
        const cookie = `__Host-browser=${i}-${minute}.forged; browser=${phone.cookie?.split("=")[1]}x`;
        expect([401, 429]).toContain((await guess(i % 2 === 0 ? "ann" : " ＡNN", 1, { network: `network ${sent}`, cookie }))[0]);
        sent++;
      }
      const hour = minute / 60;
      expect(checked.length - owner).toBeLessThanOrEqual(20 + 20 * hour);
      expect(await enter("ann", "wrong, a slip", phone)).toBe(401);
      expect(await enter("ann", "ann's secret", phone)).toBe(204);
      owner += 2;
      clock.advance(HOUR);
    }
    expect(sent).toBe(2_016);
    // It had all of them: the bound is no larger than it needs to be.
    expect(checked.length - owner).toBe(20 + 20 * 23);
  });

  test("in up to three networks does not slow down another network, not even a new device in it", async () => {
    const { clock, enter, guess } = door();
    for (let hour = 0; hour < 24; hour++) {
      for (const network of ["n1", "n2", "n3"]) await guess("ann", 10, { network });
      expect(await enter("ann", "a slip", { network: "hotel" })).toBe(401);
      expect(await enter("ann", "ann's secret", { network: "hotel" })).toBe(204);
      clock.advance(HOUR);
    }
  });

  test("with an account of its own gets no bucket at another's", async () => {
    const { enter, guess, checked } = door();
    const own: From = {};
    expect(await enter("eve", "eve's secret", own)).toBe(204);
    for (const network of ["n1", "n2", "n3", "n4"]) await guess("ann", 5, { network });
    checked.splice(0);
    expect(await guess("ann", 5, { network: "n5", ...own })).toEqual(times(5, 429));
    expect(checked).toEqual([]);
  });

  test("who stole a browser's cookie has that browser's five guesses, and no new ones by logging in", async () => {
    const { enter, guess } = door();
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
