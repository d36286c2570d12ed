// A caller writes parts of a log. Long lines that nearly fit a format are read in one pass. A reader that goes back for each
// letter would take 4 * 10^10 steps for a line, and a test here would take minutes.
import { expect, test } from "vitest";
import { NAMED_FORMATS } from "../src/log/format/named-formats.js";
import { ANY_FORMAT, readFormat } from "../src/log/format/read-format.js";
import { LineReader, LONGEST_LINE, SeenLines } from "../src/log/line-reader.js";

const BEGINNINGS = [
  "", "a", "a=", 'a="', "203.0.113.7 ", "203.0.113.7 - ", "a:1 203.0.113.7 - ", "203.0.113.7, ", "203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] ",
  '203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "', "203.0.113.7:1 [05/Mar/2026:20:33:53.123] a b/c 1/1 ", "http 2026-03-05T20:33:53Z a 203.0.113.7:1 ", "[2026-03-05T20:33:53Z] ",
];
const PIECES = ["a", " ", "a ", ", ", "a, ", "a,", ": ", "a:1 ", "1", "-", '"', '\\"', "\\", '" "', "[", "] ", " [", "[a] ", "a=b ", 'a="b" ', "{", "} {", "a | ", "\t", "5/Mar/2026:", "<1>"];
const FORMATS = [
  ["$http_a $http_b $status $http_c", "http_a", "status"],
  ['"$http_a" $status', "http_a", "status"],
  ["$http_a$http_b|$http_c|$status", "http_c", "status"],
  ["%v:%p %{X-Forwarded-For}i %l %u %t %>s", "user", undefined],
  ["%{%d/%b/%Y:%T}t.%{msec_frac}t %u %D", "user", undefined],
] as const;
const fields = { key: "address", time: "time", costs: [] };

const linesOf = (letters: number): string[] =>
  BEGINNINGS.flatMap((begin) => PIECES.map((piece) => begin + piece.repeat((letters - begin.length) / piece.length)));
const lines = linesOf(LONGEST_LINE / 5);

test("a log of any format", () => {
  const reader = new LineReader(fields, ANY_FORMAT, new SeenLines());
  for (const line of linesOf(LONGEST_LINE)) expect(reader.read(line), line.slice(0, 60)).toBeTypeOf("string");
});

test.each(Object.keys(NAMED_FORMATS))("%s", (name) => {
  const reader = new LineReader(fields, readFormat(name, fields), new SeenLines());
  for (const line of lines) reader.read(line);
});

test.each(FORMATS)("the format %s by the key %s", (format, key, time) => {
  const own = { ...fields, key, time };
  const reader = new LineReader(own, readFormat(format, own), new SeenLines());
  for (const line of lines) reader.read(line);
});
