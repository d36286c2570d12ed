import type { FieldList } from "./field.js";

/**
 * The fields of a gate on a response that already has the fields of an `earlier` gate. The lists of draft 11 are
 * joined. A field with a single value is the earlier gate's if `keepsEarlier`, and this gate's otherwise.
 *
 * In a refusal, the earlier items of `RateLimit` lose their `t`. No `t` may be before `Retry-After` (draft 11, section
 * 6).
 */
export function stackFields(earlier: FieldList, own: FieldList, keepsEarlier: boolean, isRefusal: boolean): FieldList {
  return own.map((text, i) => {
    const before = i % 2 === 0 ? undefined : valueOf(earlier, own[i - 1] as string);
    // Another style under the same name, such as draft 7, cannot be joined.
    if (before === undefined || isList(before) !== isList(text)) return text;
    if (isList(text)) return `${isRefusal && own[i - 1] === "ratelimit" ? before.replace(/;t=\d+/g, "") : before}, ${text}`;
    return keepsEarlier ? before : text;
  });
}

/**
 * The fields of two decisions of one gate. The lists of draft 11 are joined. Fields with a single value are those of
 * `own`.
 */
export function addFields(other: FieldList, own: FieldList, isRefusal: boolean): FieldList {
  return unionOfFields(other, stackFields(other, own, false, isRefusal));
}

/** The fields of `own`, and those of `earlier` with other names. */
export function unionOfFields(earlier: FieldList, own: FieldList): FieldList {
  return [...own, ...earlier.filter((_, i) => valueOf(own, earlier[i - (i % 2)] as string) === undefined)];
}

function valueOf(fields: FieldList, name: string): string | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return fields[i + 1];
  return undefined;
}

// Only the lists of draft 11 begin with a string (RFC 9651).
function isList(value: string): boolean {
  return value.startsWith('"');
}
