/** One member of a List (its `key` is "") or of a Dictionary. */
export interface Member {
  readonly key: string;
  readonly value: Value;
  readonly params: Readonly<Record<string, Value>>;
}

/** A String or Token as text, an Integer as a number, null for every other kind: none of our fields has a use for it. */
export type Value = string | number | null;

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

/** The members of a List of Items; null when `text` is none. An inner list counts as an error: no field of ours has one. */
export function parseList(text: string): Member[] | null {
  return parse(text, `()(${ITEM})`);
}

/**
 * The members of a Dictionary of Items, duplicates included; null when `text` is none.
 *
 * Source of both: RFC 9651, section 4.2. One mistake anywhere makes the whole field unreadable.
 */
export function parseDictionary(text: string): Member[] | null {
  return parse(text, PAIR);
}

function parse(text: string, head: string): Member[] | null {
  const member = new RegExp(`${head}((?:${PARAM})*)[ \\t]*(?:,[ \\t]*(?!$)|$)`, "y");
  const members: Member[] = [];
  while (member.lastIndex < text.length) {
    const found = member.exec(text);
    if (found === null) return null;
    const [, key = "", value, params = ""] = found;
    // A parameter given twice counts by its last value, as an object has it.
    const pairs = [...params.matchAll(new RegExp(PARAM, "g"))];
    members.push({ key, value: valueOf(value), params: Object.fromEntries(pairs.map(([, name, given]) => [name, valueOf(given)])) });
  }
  return members;
}

function valueOf(text = ""): Value {
  if (/^-?\d+$/.test(text)) return Number(text);
  if (text[0] === '"') return text.slice(1, -1).replace(/\\(.)/g, "$1");
  return /^[A-Za-z*]/.test(text) ? text : null;
}
