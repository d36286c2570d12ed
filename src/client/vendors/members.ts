import { sentMembers } from "../reading/refusal-body.js";

/** The own member `name` of `value`, when both exist. Never throws. */
export function sentMember(value: unknown, name: string): unknown {
  return sentMembers(value)[name];
}

/** The member `name` of `value` when it is text, or "". Never throws. */
export function textMember(value: unknown, name: string): string {
  const text = sentMember(value, name);
  return typeof text === "string" ? text : "";
}

/** The member `name` of `value` when it is a list, or an empty list. Never throws. */
export function listMember(value: unknown, name: string): readonly unknown[] {
  const list = sentMember(value, name);
  return Array.isArray(list) ? list : [];
}
