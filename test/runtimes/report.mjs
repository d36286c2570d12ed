// What the jobs printed, as a table for people.
import { readFileSync, writeFileSync } from "node:fs";

const COLUMNS = ["adapters", "stores", "core, client", "two copies", "requests at once", "types"];
const PAGE = new URL("../../docs/runtimes.md", import.meta.url);

/** The tests that a job's output tells of. A program that ended early, or told of none, is a failed one. */
export function readOutput({ column, command }, code, output) {
  const tests = [];
  let told = 0;
  if (column === "types") return [{ name: "the types compile", outcome: code === 0 ? "passed" : "failed", error: output }];
  for (const line of output.split("\n")) {
    const [, outcome, name] = /^(ok|skipped|FAILED) +[^:]*: (.*)$/.exec(line) ?? [];
    // The name of a runtime has digits of its own, such as "next 15.5.28".
    const [, number] = /^\{"tests":(\d+)\}$/.exec(line) ?? /: all (\d+) passed$/.exec(line) ?? [];
    const last = tests.at(-1);
    if (name !== undefined) tests.push(outcome === "FAILED" ? { name, outcome: "failed", error: "" } : { name, outcome: outcome === "ok" ? "passed" : outcome });
    else if (line.startsWith('{"name":')) tests.push(JSON.parse(line));
    else if (number !== undefined) told = Number(number);
    else if (last?.outcome === "failed") last.error += `${line}\n`;
  }
  const isWhole = code === 0 && told === tests.length && told > 0;
  if (!isWhole && !tests.some(({ outcome }) => outcome === "failed")) {
    tests.push({ name: `${command.slice(-2).join(" ")} ended early, with ${code}`, outcome: "failed", error: output.slice(-3_000) });
  }
  return tests;
}

const count = (tests) => {
  const ran = tests.filter(({ outcome }) => outcome !== "skipped");
  const passed = ran.filter(({ outcome }) => outcome === "passed").length;
  return ran.length === 0 ? "–" : passed === ran.length ? `${passed}` : `**${passed} of ${ran.length}**`;
};

const readJson = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
const table = (head, rows) => [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** The tables: runtimes, the lowest peers, and what is not run where. `done` has the jobs with their tests. */
export function formatReport(done) {
  const main = done.filter(({ column }) => column !== "lowest");
  const names = [...new Set(main.map(({ runtime }) => runtime))];
  const rows = names.map((name) => {
    const jobs = main.filter(({ runtime }) => runtime === name);
    const cells = COLUMNS.map((column) => {
      const tests = jobs.filter((job) => job.column === column).flatMap((job) => job.tests);
      return column === "types" && tests.length > 0 && tests.every(({ outcome }) => outcome === "passed") ? "yes" : count(tests);
    });
    return [name, jobs[0].version, ...cells];
  });
  const lowestTests = done.filter(({ column }) => column === "lowest").flatMap(({ tests }) => tests);
  const peers = new Map();
  for (const test of lowestTests) {
    const peer = /[\w-]+-lowest/.exec(test.name)?.[0] ?? test.name;
    peers.set(peer, [...(peers.get(peer) ?? []), test]);
  }
  const { dependencies } = readJson("package.json");
  const { peerDependencies } = readJson("../../package.json");
  const versionOf = (alias) => (dependencies[alias] ?? alias).replace("npm:", "").replace(/@(?=[^@]*$)/, " ");
  const peerRows = [...peers].map(([alias, tests]) => {
    const server = alias === "hono-lowest" ? ` on ${versionOf("hono-node-server-lowest")}` : "";
    const lowest = versionOf(alias);
    return [lowest + server, `\`${peerDependencies[lowest.split(" ")[0]].replace(" || ", "` or `")}\``, count(tests)];
  });
  return `${table(["runtime", "version", ...COLUMNS], rows)}\n\n${table(["lowest version of a peer, on Node 20", "range in package.json", "tests"], peerRows)}\n\n${formatSkips(main.filter(({ column }) => column !== "stores"))}\n`;
}

/** Each reason for which tests are skipped, with the tests, and the suites or runtimes that it concerns. Stores differ less by runtime. */
function formatSkips(done) {
  const reasons = new Map();
  for (const { runtime, tests } of done) {
    for (const { name, outcome } of tests) {
      const [, reason] = /\((?:skipped: )?([^()]*(?:\([^()]*\)[^()]*)*)\)$/.exec(name) ?? [];
      if (outcome !== "skipped" || reason === undefined) continue;
      const suite = name.includes(" › ") && /^(sluice|the memory)/.test(name) ? name.split(" › ")[0] : runtime;
      const known = reasons.get(reason) ?? { names: new Set(), suites: new Set() };
      reasons.set(reason, known);
      known.names.add(name.split(" › ").slice(suite === runtime ? 0 : 1).join(" › "));
      known.suites.add(suite);
    }
  }
  const rows = [...reasons].map(([reason, { names, suites }]) => [reason, names.size, placesOf(suites)]);
  return table(["not run because", "tests", "where"], rows.sort(([, , a], [, , b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** "a on b, a on c" as "a on b, c". */
function placesOf(suites) {
  const servers = new Map();
  for (const suite of suites) {
    const [what, server] = suite.split(" on ");
    servers.set(what, [...(servers.get(what) ?? []), ...(server === undefined ? [] : [server])]);
  }
  return [...servers].map(([what, on]) => (on.length === 0 ? what : `${what} on ${on.join(", ")}`)).join("; ");
}

/** Puts the report onto its page, between its marks. */
export function writeReport(report) {
  const page = readFileSync(PAGE, "utf8");
  writeFileSync(PAGE, page.replace(/(<!-- begin of the last run -->\n)[^]*(<!-- end of the last run -->)/, (_, begin, end) => `${begin}${report}${end}`));
}
