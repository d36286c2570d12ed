import { ownMembers } from "../../core/check.js";

/** One member of a List or of a Dictionary. In a List its `key` is "". */
export interface Member {
  readonly key: string;
  readonly value: ItemValue;
  readonly params: Readonly<Record<string, ItemValue>>;
}

/** A String or Token as text, an Integer as a number. Null for all other types, which rate-limit fields do not use. */
export type ItemValue = string | number | null;

// A comma or semicolon, then an item that may have a key. A key without an item looks like a Token. The items: Decimal,
// Integer or Date, String, Token, Byte Sequence, Boolean, Display String (RFC 9651, section 3.3). As a text, because a
// literal cannot be wrapped.
const PART = /* @__PURE__ */ new RegExp(
  '(; *|[ \\t]*,[ \\t]*)(?:([\\w.*-]+)=)?(-?\\d{1,12}\\.\\d{1,3}|@?-?\\d{1,15}|"(?:[ !#-[\\]-~]|\\\\["\\\\])*"' +
    "|[A-Za-z*][!#$%&'*+.^_`|~\\w:/-]*|:[A-Za-z\\d+/=]*:|\\?[01]" + '|%"(?:[ !#$&-~]|%[\\da-f]{2})*")',
  "y",
);
const KEY = /^[a-z*][a-z0-9_.*-]*$/;

/** Parses a List of Items. Null when `text` is malformed, or contains an inner list. */
export function parseList(text: string): Member[] | null {
  return parseMembers(text, true);
}

/**
 * Parses a Dictionary of Items, duplicates included. Null when `text` is malformed, or contains an inner list.
 *
 * Source, also of {@link parseList}: RFC 9651, section 4.2. One mistake makes the whole field malformed.
 */
export function parseDictionary(text: string): Member[] | null {
  return parseMembers(text, false);
}

// Each character is read a fixed number of times: `PART` goes on where its last match ended.
function parseMembers(text: string, isList: boolean): Member[] | null {
  const line = text && `,${text}`;
  const members: Member[] = [];
  let params: Record<string, ItemValue> = {};
  for (PART.lastIndex = 0; PART.lastIndex < line.length; ) {
    const [, separator = "", named, item = ""] = PART.exec(line) ?? [];
    const isParam = separator[0] === ";";
    const hasKey = isParam || !isList;
    const key = named ?? item;
    if (hasKey ? !KEY.test(key) : named !== undefined || item === "") return null;
    const value = hasKey && named === undefined ? null : parseItem(item);
    // The last of several parameters with one name counts.
    if (isParam) params[key] = value;
    else members.push({ key: hasKey ? key : "", value, params: (params = ownMembers({})) });
  }
  return members;
}

function parseItem(text: string): ItemValue {
  if (/^-?\d+$/.test(text)) return Number(text);
  if (text[0] === '"') return text.slice(1, -1).replace(/\\(.)/g, "$1");
  return /^[A-Za-z*]/.test(text) ? text : null;
}
