/** One member of a List or of a Dictionary. In a List its `key` is "". */
export interface Member {
  readonly key: string;
  readonly value: ItemValue;
  readonly params: Readonly<Record<string, ItemValue>>;
}

/** A String or Token as text, an Integer as a number. Null for all other types, which rate-limit fields do not use. */
export type ItemValue = string | number | null;

const KEY = "[a-z*][a-z0-9_.*-]*";
const ITEM =
  "-?\\d{1,12}\\.\\d{1,3}" + // Decimal
  "|@?-?\\d{1,15}" + // Integer, Date
  '|"(?:[ !#-[\\]-~]|\\\\["\\\\])*"' + // String
  "|[A-Za-z*][!#$%&'*+.^_`|~\\w:/-]*" + // Token
  "|:[A-Za-z\\d+/=]*:" + // Byte Sequence
  "|\\?[01]" + // Boolean
  '|%"(?:[ !#$&-~]|%[\\da-f]{2})*"'; // Display String
const PAIR = `(${KEY})(?:=(${ITEM}))?`;
const PARAM = `; *${PAIR}`;

/** Parses a List of Items. Null when `text` is malformed, or contains an inner list. */
export function parseList(text: string): Member[] | null {
  return parseMembers(text, `()(${ITEM})`);
}

/**
 * Parses a Dictionary of Items, duplicates included. Null when `text` is malformed, or contains an inner list.
 *
 * Source, also of {@link parseList}: RFC 9651, section 4.2. One mistake makes the whole field malformed.
 */
export function parseDictionary(text: string): Member[] | null {
  return parseMembers(text, PAIR);
}

function parseMembers(text: string, head: string): Member[] | null {
  const member = new RegExp(`${head}((?:${PARAM})*)[ \\t]*(?:,[ \\t]*(?!$)|$)`, "y");
  const members: Member[] = [];
  while (member.lastIndex < text.length) {
    const found = member.exec(text);
    if (found === null) return null;
    const [, key = "", value, params = ""] = found;
    // The last of several parameters with one name counts: `fromEntries` keeps the last.
    const pairs = [...params.matchAll(new RegExp(PARAM, "g"))];
    members.push({ key, value: parseItem(value), params: Object.fromEntries(pairs.map(([, name, given]) => [name, parseItem(given)])) });
  }
  return members;
}

function parseItem(text = ""): ItemValue {
  if (/^-?\d+$/.test(text)) return Number(text);
  if (text[0] === '"') return text.slice(1, -1).replace(/\\(.)/g, "$1");
  return /^[A-Za-z*]/.test(text) ? text : null;
}
