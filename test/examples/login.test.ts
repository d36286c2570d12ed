import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { login } from "../../examples/login/login.js";

function door() {
  const clock = new ManualClock();
  let checks = 0;
  const handle = login(async (account, password) => (checks++, password === `${account.toLowerCase()}'s secret`), { clock: clock.now });
  const enter = async (account: string, password: string): Promise<number> => {
    const response = await handle(new Request("http://127.0.0.1/login", { method: "POST", body: new URLSearchParams({ account, password }) }));
    await response.text();
    return response.status;
  };
  const guess = async (account: string, times: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let i = 0; i < times; i++) statuses.push(await enter(account, `guess ${i}`));
    return statuses;
  };
  return { clock, enter, guess, checks: () => checks };
}

test("who logs in as often as they like is never refused", async () => {
  const { enter } = door();
  for (let i = 0; i < 20; i++) expect(await enter("ann", "ann's secret")).toBe(200);
});

test("five wrong passwords, and the account rests; another's does not", async () => {
  const { clock, enter, guess, checks } = door();
  expect(await guess("ann", 7)).toEqual([401, 401, 401, 401, 401, 429, 429]);
  expect(checks()).toBe(5);
  expect(await enter("bob", "bob's secret")).toBe(200);
  clock.advance(12 * 60_000);
  expect(await guess("ann", 2)).toEqual([401, 429]);
});

test("a right password gives back its own attempt, not those before it", async () => {
  const { enter, guess } = door();
  expect(await guess("ann", 4)).toEqual([401, 401, 401, 401]);
  expect(await enter("ann", "ann's secret")).toBe(200);
  expect(await guess("ann", 2)).toEqual([401, 429]);
});

test("guesses at one time, and other spellings, get no more than five between them", async () => {
  const { guess, checks } = door();
  const spellings = ["ann", "Ann", "ANN", " ann "];
  const statuses = (await Promise.all(Array.from({ length: 40 }, (_, i) => guess(spellings[i % 4] as string, 1)))).flat();
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(checks()).toBe(5);
});
