// The limit by complexity in GraphQL Yoga.
import { parse } from "graphql";
import { createSchema, createYoga } from "graphql-yoga";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { complexityOf, limitComplexity } from "../servers/graphql.js";

interface Context { readonly userId: string }

test.each<[cost: number, query: string, variableValues?: Record<string, unknown>, operationName?: string]>([
  [2, "{ me { name } }"],
  [1 + 10 * 1, "{ users(first: 10) { name } }"],
  [1 + 10 * (1 + 5 * 2), "{ users(first: 10) { posts(first: 5) { title author } } }"],
  [1 + 20 * 1, "query ($n: Int) { users(first: $n) { name } }", { n: 20 }],
  [2, "query ($n: Int) { users(first: $n) { name } }", { n: "many" }],
  [2, "query ($n: Int) { users(first: $n) { name } }", { n: -5 }],
  [3, "query ($n: Int) { users(first: $n) { name } }", { n: 2.5 }],
  [1, "query ($n: Int) { me(first: $n) }", { n: Infinity }],
  [2, "query ($n: Int) { users(first: $n) { name } }"],
  [2, '{ users(first: "x") { name } }'],
  [1 + 2 + 2, "{ me { ...a ...a } } fragment a on User { name id }"],
  [1 + 2, "{ me { ... on User { id name } } }"],
  [2, "query A { me { name } } fragment unused on User { id }"],
  [2, "query A { me { name } } query B { me { name id } }", {}, "A"],
  [3, "query A { me { name } } query B { me { name id } }", {}, "B"],
])("a cost of %i: %s", (cost, query, variableValues, operationName) => {
  expect(complexityOf({ document: parse(query), variableValues, operationName } as Parameters<typeof complexityOf>[0])).toBe(cost);
});

test("a small query of exponential cost is counted at once, and its cost is a number that a limiter takes", () => {
  const fragments = Array.from({ length: 60 }, (_, i) => `fragment f${i} on User { ...f${i + 1} ...f${i + 1} }`).join(" ");
  expect(complexityOf({ document: parse(`{ me { ...f0 } } ${fragments} fragment f60 on User { name }`) })).toBe(Number.MAX_SAFE_INTEGER);
});

function serve() {
  const clock = new ManualClock();
  const yoga = createYoga<{}, Context>({
    schema: createSchema({
      typeDefs: "type User { name: String } type Query { me: User, users(first: Int): [User] }",
      resolvers: { Query: { me: (_: unknown, __: unknown, { userId }: Context) => ({ name: userId }), users: () => [{ name: "ann" }] } },
    }),
    context: ({ request }) => ({ userId: request.headers.get("x-user") ?? "" }),
    plugins: [limitComplexity<Context>(({ userId }) => userId, new MemoryStore({ clock: clock.now }))],
    batching: true, logging: false, graphiql: false,
  });
  const ask = async (body: object | string, user = "ann") => {
    const headers = { "x-user": user, "content-type": "application/json" };
    const response = await (typeof body === "string"
      ? yoga.fetch(`http://localhost/graphql?query=${encodeURIComponent(body)}`, { headers })
      : yoga.fetch("http://localhost/graphql", { method: "POST", body: JSON.stringify(body), headers }));
    return [response.status, await response.json(), response.headers.get("retry-after")];
  };
  return { clock, ask };
}

test("a user who asks for much is refused as GraphQL's clients expect, and after the wait the query runs", async () => {
  const { clock, ask } = serve();
  expect(await ask({ query: "{ me { name } }" })).toEqual([200, { data: { me: { name: "ann" } } }, null]);
  expect(await ask({ query: "query ($n: Int) { users(first: $n) { name } }", variables: { n: 900 } })).toEqual([200, { data: { users: [{ name: "ann" }] } }, null]);
  const refused = [429, { errors: [{ message: "Try again in 1 s.", extensions: { code: "rate_limited", retryAfter: 1 } }] }, "1"];
  const query = "{ users(first: 100) { name } }"; // 97 are left
  expect(await ask({ query })).toEqual(refused);
  expect(await ask(query), "by GET").toEqual(refused);
  expect((await ask({ query }, "bob"))[0]).toBe(200);
  clock.advance(1_000);
  expect((await ask({ query }))[0]).toBe(200);
});

test("a query that is always too complex is a 400 without a wait, and one that does not validate costs nothing", async () => {
  const { ask } = serve();
  expect(await ask({ query: "{ users(first: 5000) { name } }" })).toEqual([400, { errors: [{ message: "This query cannot run.", extensions: { code: "cost_above_capacity", retryAfter: null } }] }, null]);
  for (const query of ["{ me {", "{ nobody }"]) expect(await ask({ query })).toMatchObject([200, { errors: [{}] }, null]);
  expect((await ask({ query: "{ users(first: 999) { name } }" }))[0]).toBe(200);
});

test("each operation of a batch is charged", async () => {
  const { ask } = serve();
  const query = "{ users(first: 600) { name } }";
  expect((await ask([{ query }, { query }]))[1]).toMatchObject([{ data: {} }, { errors: [{ extensions: { code: "rate_limited" } }] }]);
});
