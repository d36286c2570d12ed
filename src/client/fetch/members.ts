import { memberOf } from "../../core/check.js";

// The members of an object as `fetch` reads them: inherited ones count. Those of `Object.prototype` do not, because
// other code may have added them (CWE-1321).

/** Whether a value has a member. */
export function hasMember(value: unknown, name: string): boolean {
  return memberOf(Object(value) as Record<string, unknown>, name) !== undefined;
}

/** The members of `value`, without a prototype, and without the methods of its class. */
export function allMembers(value: object): Record<string, unknown> {
  const members = Object.create(null) as Record<string, unknown>;
  for (let at: object | null = value; at && !Object.hasOwn(at, "isPrototypeOf"); at = Object.getPrototypeOf(at) as object) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name in members) continue;
      const member = (value as Record<string, unknown>)[name];
      const isMethod = typeof member === "function" && !Object.prototype.propertyIsEnumerable.call(at, name);
      if (!isMethod) members[name] = member;
    }
  }
  return members;
}
