// `npm run client --prefix bench`, on virtual time: the requests that 50 callers send, and the retries of 1,000 devices
// after an outage. Prints the numbers and draws docs/images/client-*.svg. Takes about a minute, most of it for the
// first row.
import { writeFileSync } from "node:fs";
import { drawSpread, drawTraffic } from "../../docs/images/draw-client.js";
import { crowd } from "./outage.js";
import { FIFTY, simulate, type Run } from "./simulate.js";
import { SPREAD_END_MS, spreadRows } from "./spread.js";
import { strategies } from "./strategies.js";

const percentile = (values: readonly number[], share: number): number => [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] as number;

const runs: Run[] = [];
for (const strategy of strategies) runs.push(await simulate(strategy, FIFTY));
console.table(
  Object.fromEntries(
    runs.map(({ name, wire, took, doneMs }) => [
      name,
      {
        requests: wire.length,
        "429s": wire.filter(({ refused }) => refused).length,
        "done after s": Number((doneMs / 1_000).toFixed(1)),
        "call p50 ms": Math.round(percentile(took, 0.5)),
        "call p99 ms": Math.round(percentile(took, 0.99)),
      },
    ]),
  ),
);

const rows = await spreadRows();
console.table(Object.fromEntries(rows.map(({ name, retries }) => [name, { retries: retries.length, "most within 100 ms": crowd(retries) }])));

writeFileSync(new URL("../../docs/images/client-traffic.svg", import.meta.url), drawTraffic(runs));
writeFileSync(new URL("../../docs/images/client-spread.svg", import.meta.url), drawSpread(rows, SPREAD_END_MS));
