import { memberOf } from "../../core/check.js";

// The members of an object as `fetch` reads them: inherited ones count. Those of `Object.prototype` do not, because
// other code may have added them (CWE-1321).

/** Whether a value has a member. */
export function hasMember(value: unknown, name: string): boolean {
  return memberOf(Object(value) as Record<string, unknown>, name) !== undefined;
}

// Read by name, as `fetch` reads them: a proxy need not list them. `bodyUsed` tells a `Request`.
const OF_REQUESTS =
  "body bodyUsed cache credentials duplex headers integrity keepalive method mode redirect referrer referrerPolicy " +
  "signal";

/**
 * The members of `value`, without a prototype: those of `fetch` and `names`, and all others that can be read without
 * running a getter of its class. Without the methods of its class.
 */
export function allMembers(value: object, names: readonly string[]): Record<string, unknown> {
  const members = Object.create(null) as Record<string, unknown>;
  const given = value as Record<string, unknown>;
  for (const name of OF_REQUESTS.split(" ").concat(names)) {
    const member = memberOf(given, name);
    if (member !== undefined) members[name] = member;
  }
  for (let at: object | null = value; at && !Object.hasOwn(at, "isPrototypeOf"); at = Object.getPrototypeOf(at) as object) {
    for (const [name, { get, enumerable }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (name in members || (get && at !== value)) continue;
      const member = given[name];
      if (typeof member !== "function" || enumerable) members[name] = member;
    }
  }
  return members;
}
