/** Lists and Dictionaries of RFC 9651, against a parser that shares no code with ours. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { DisplayString, isInnerList, parseDictionary as theirDictionary, parseList as theirList, Token, type BareItem, type Item } from "structured-headers";
import { parseDictionary, parseList, type ItemValue, type Member } from "../../../src/client/reading/structured-field.js";

/** What ours should give for a value of theirs: text for String and Token, the Integers, null for the rest. */
function ours(value: BareItem, text: string): ItemValue {
  if (value instanceof Token) return value.toString();
  if (value instanceof DisplayString) return null;
  if (typeof value === "number") return Number.isInteger(value) && !/\.\d/.test(text) ? value : null;
  return typeof value === "string" ? value : null;
}

function member(key: string, item: Item, text: string): Member {
  return { key, value: ours(item[0], text), params: Object.fromEntries([...item[1]].map(([name, value]) => [name, ours(value, text)])) };
}

function expectedList(text: string): Member[] | null {
  try {
    const list = theirList(text);
    return list.some((one) => isInnerList(one)) ? null : list.map((item) => member("", item as Item, text));
  } catch {
    return null;
  }
}

function expectedDictionary(text: string): Map<string, Member> | null {
  try {
    const entries = [...theirDictionary(text)];
    return entries.some(([, one]) => isInnerList(one)) ? null : new Map(entries.map(([key, item]) => [key, member(key, item as Item, text)]));
  } catch {
    return null;
  }
}

// Whole items and halves of them, so that most texts are nearly right. No Decimals, which ours() could not tell from Integers, and no
// Dates, which that parser takes only at the end of a line.
const piece = fc.constantFrom(
  '"a"', '"b;r=1"', '"a\\"b"', '"a\\b"', '"open', "tok", "*t/o:k", "a", "b", "1", "-5", "007", "123456789012345", "1234567890123456",
  ":YQ==:", ":YQ=", "?1", "?2", "@x", '%"f%c3%bc"', '%"%C3"', "(", ")", ";", "; ", ";r=1", ";t=30", ";r", ";R=1", "=", ",", ", ", " ", "\t", "é", "",
);
// Spaces around a field's value are not part of it.
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("").trim());

test("60 · a List is read as RFC 9651 has it, or not at all", () => {
  fc.assert(
    fc.property(text, (line) => {
      expect(parseList(line)).toEqual(expectedList(line));
    }),
    { numRuns: 3_000 },
  );
});

test("60 · a Dictionary is read as RFC 9651 has it, or not at all", () => {
  const line = fc.array(fc.tuple(fc.constantFrom("a", "b", "a=", "b=", "limit=", "*=", "A=", "1="), text), { maxLength: 4 });
  fc.assert(
    fc.property(
      line.map((members) => members.map((parts) => parts.join("")).join(", ").trim()),
      (dictionary) => {
        const found = parseDictionary(dictionary);
        expect(found === null ? null : new Map(found.map((one) => [one.key, one]))).toEqual(expectedDictionary(dictionary));
      },
    ),
    { numRuns: 3_000 },
  );
});

test("60 · a Decimal is no Integer: its value is null", () => {
  expect(parseList("1.5, 2.0;w=3.000")?.map(({ value, params }) => [value, params["w"]])).toEqual([[null, undefined], [null, null]]);
  expect([parseList("1."), parseList("1.2345"), parseList("1234567890123.1")]).toEqual([null, null, null]);
});

test("60 · a long line is read or rejected in linear time", () => {
  // Reading that took quadratic time would run into the timeout.
  const many = (piece: string): string => piece.repeat(200_000 / piece.length);
  const malformed = ['"a' + many("\\\\"), '"a' + many('\\"'), "a;" + many(" ") + "!", "a" + many(" ") + "!", "a" + many(";b=1") + "!", "a" + many(";b") + ";", many("a, "),
    many('"'), many(","), many("A="), many("a=1;"), "a;b=:" + many("A"), '%"' + many("%20"), many("1.1")];
  for (const line of malformed) expect([parseList(line), parseDictionary(line)]).toEqual([null, null]);
  expect(parseList(many("a,") + "b")?.length).toBe(100_001);
  expect(parseDictionary(many("a=1,") + "b")?.length).toBe(50_001);
  expect(Object.keys(parseList("a" + many(";b"))?.[0]?.params ?? {})).toEqual(["b"]);
});
