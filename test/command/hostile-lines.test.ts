// A caller writes parts of a log. Lines of a million letters that nearly fit are read in one pass: a reader that goes back
// for each letter would take 10^12 steps, and this file would never end.
import { expect, test } from "vitest";
import { NAMED_FORMATS } from "../../src/command/log/format/named-formats.js";
import { ANY_FORMAT, readFormat } from "../../src/command/log/format/read-format.js";
import { LineReader, LONGEST_LINE, SeenLines } from "../../src/command/log/line-reader.js";

const BEGINNINGS = [
  "", "a", "a=", 'a="', "203.0.113.7 ", "203.0.113.7 - ", "a:1 203.0.113.7 - ", "203.0.113.7, ", "203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] ",
  '203.0.113.7 - - [05/Mar/2026:20:33:53 +0000] "', "203.0.113.7:1 [05/Mar/2026:20:33:53.123] a b/c 1/1 ", "http 2026-03-05T20:33:53Z a 203.0.113.7:1 ", "[2026-03-05T20:33:53Z] ",
];
const PIECES = ["a", " ", "a ", ", ", "a, ", "a,", ": ", "a:1 ", "1", "-", '"', '\\"', "\\", '" "', "[", "] ", " [", "[a] ", "a=b ", 'a="b" ', "{", "} {", "a | ", "\t", "5/Mar/2026:", "<1>"];
const FORMATS = ["$http_a $http_b $status $http_c", '"$http_a" $status', "%v:%p %{X-Forwarded-For}i %l %u %t %>s", "%{%d/%b/%Y:%T}t.%{msec_frac}t %u %D", "$http_a$http_b|$http_c|$status"];
const fields = { key: "address", time: "time", costs: [] };

function linesOf(): string[] {
  return BEGINNINGS.flatMap((begin) => PIECES.map((piece) => begin + piece.repeat((LONGEST_LINE - begin.length) / piece.length)));
}

test("a log of any format", () => {
  for (const line of linesOf()) expect(new LineReader(fields, ANY_FORMAT, new SeenLines()).read(line), line.slice(0, 60)).not.toMatchObject({ at: 0 });
});

test.each(Object.keys(NAMED_FORMATS))("%s", (name) => {
  const reader = new LineReader(fields, readFormat(name, fields), new SeenLines());
  for (const line of linesOf()) reader.read(line);
});

test.each(FORMATS)("the format %s", (format) => {
  const key = format.startsWith("%") ? "user" : "http_a";
  const own = { ...fields, key, time: format.startsWith("%") ? undefined : "status" };
  const read = format.startsWith('"') ? { ...own, key: "http_a" } : own;
  const reader = new LineReader(read, readFormat(format, read.key === "http_a" && format.includes("$http_a$") ? { ...read, key: "http_c" } : read), new SeenLines());
  for (const line of linesOf()) reader.read(line);
});
