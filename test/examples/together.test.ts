import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { messages, type Caller } from "../../examples/together/messages.js";

function serve() {
  const clock = new ManualClock();
  const callers = new WeakMap<Request, Caller>();
  const handle = messages({ callerOf: (request) => callers.get(request) as Caller, store: new MemoryStore({ clock: clock.now }) });
  /** Asks so many times, and tells each answer: its status, who refused, and how long to wait. */
  const ask = async (caller: Caller, times: number): Promise<string[]> => {
    const answers: string[] = [];
    for (let i = 0; i < times; i++) {
      const request = new Request("http://127.0.0.1/");
      callers.set(request, caller);
      const response = await handle(request);
      const { refusedBy } = (await response.json()) as { refusedBy?: string };
      answers.push(response.status === 200 ? "200" : `${response.status} ${refusedBy} ${response.headers.get("Retry-After")}`);
    }
    return answers;
  };
  return { clock, ask };
}

const [ann, bob, cid] = ["ann", "bob", "cid"].map((user): Caller => ({ user, tenant: "acme" })) as [Caller, Caller, Caller];
const yes = (times: number): string[] => Array.from({ length: times }, () => "200");

test("a user, their tenant and the service each have a say, and what one refuses costs the others nothing", async () => {
  const { clock, ask } = serve();
  expect(await ask(ann, 7)).toEqual([...yes(5), "429 user 1", "429 user 1"]);
  // Seven of twelve are left to the tenant: the two that were refused took none.
  expect(await ask(bob, 5)).toEqual(yes(5));
  expect(await ask(cid, 3)).toEqual([...yes(2), "429 tenant 1"]);
  clock.advance(1_000);
  // Both are empty then, and the user's is what takes longer.
  expect(await ask(cid, 5)).toEqual([...yes(4), "429 user 1"]);
});

test("a user of the same name with another tenant is somebody else", async () => {
  const { ask } = serve();
  await ask(ann, 5);
  expect(await ask({ user: "ann", tenant: "other" }, 1)).toEqual(["200"]);
});

test("a service that is full says so, whoever asks", async () => {
  const { ask } = serve();
  for (let i = 0; i < 20; i++) expect(await ask({ user: "one", tenant: `${i}` }, 5)).toEqual(yes(5));
  expect(await ask(ann, 1)).toEqual(["503 service 1"]);
});
