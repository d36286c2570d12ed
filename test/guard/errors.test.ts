// The errors of a store: their names, and the cause that its client knows.
import { describe, expect, test } from "vitest";
import { StoreUnavailableError, withCause } from "../../src/guard/errors.js";

describe("the cause of a client's error", () => {
  const cause = new Error("connect ECONNREFUSED");
  const given = (): Error => new Error("Connection is closed");

  test("is added as the constructor of an error does it: it can be replaced, and is not listed", () => {
    const error = withCause(given(), () => cause) as Error;
    expect([error.cause, Object.keys(error)]).toEqual([cause, []]);
    expect(Object.getOwnPropertyDescriptor(error, "cause")).toEqual(Object.getOwnPropertyDescriptor(new Error("x", { cause }), "cause"));
  });

  test.each<[what: string, error: unknown, known: unknown]>([
    ["an error with a cause keeps it", new Error("gone", { cause: 1 }), cause],
    ["an error that is frozen stays as it is", Object.freeze(given()), cause],
    ["what is no error stays as it is", { message: "gone" }, cause],
    ["an error is not its own cause", cause, cause],
    ["no cause is known", given(), undefined],
    ["the client does not know yet", given(), null],
  ])("%s", (_, error, known) => {
    const before = (error as Error).cause;
    expect(withCause(error, () => known)).toBe(error);
    expect([(error as Error).cause, Object.hasOwn(error as object, "cause")]).toEqual([before, before !== undefined]);
  });

  test("an outage has its own name", () => expect(new StoreUnavailableError("ERR_STORE_OPEN", "gone").name).toBe("StoreUnavailableError"));
});
