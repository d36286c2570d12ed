// `npx sluice-simulate --key address`: one caller of each address as the gate has it, by whichever name a log writes it.
import { Readable, Writable } from "node:stream";
import { addressKey } from "sluice";
import { describe, expect, test } from "vitest";
import { runSimulate } from "../src/run.js";

async function simulated(lines: readonly (object | string)[], ...args: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  let out = "";
  const into = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  const log = lines.map((line) => (typeof line === "string" ? line : JSON.stringify({ time: 1_790_000_000, ...line }))).join("\n");
  const code = await runSimulate(["-", "--policy", "1, 1/min", ...args], { stdin: Readable.from([Buffer.from(log)]), stdout: into, stderr: into });
  return { code, out };
}

/** A member at a name with dots. */
const at = (path: string, value: unknown): object => path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

// Seen in: nginx and gunicorn (remote_addr), Apache (clientip, remoteIP), Caddy (request.client_ip), Traefik (ClientHost, ClientAddr), Cloudflare (ClientIP), pino
// (req.remoteAddress), Google Cloud (httpRequest.remoteIp), Elastic (client.ip, source.address), OpenTelemetry (client.address, net.peer.ip), Envoy, IIS (c-ip),
// API Gateway, CloudTrail, Kubernetes audit, Azure, Rails (remote_ip), Spring (remoteAddr), Datadog (network.client.ip).
const NAMES = [
  "address", "ip", "remote_addr", "remoteAddr", "clientip", "remoteIP", "remote_ip", "request.client_ip", "request.remote_ip", "ClientHost", "ClientAddr", "ClientIP",
  "req.remoteAddress", "httpRequest.remoteIp", "client.ip", "client.address", "source.ip", "source.address", "attributes.client.address", "attributes.net.peer.ip",
  "downstream_remote_address", "c-ip", "requestContext.identity.sourceIp", "sourceIPAddress", "callerIpAddress", "network.client.ip", "user_ip", "http_x_forwarded_for",
  "headers.x-forwarded-for", "req.headers.X-Real-IP", "req.ip",
];

const NETWORK = ["2001:db8:1:2:aaaa::1", "2001:DB8:1:2::2", "[2001:db8:1:2::3]:443", "2001:db8:1:2::4%eth0", " 2001:db8:1:2::5 "];
const FOUR = ["192.0.2.7", "::ffff:192.0.2.7", "192.0.2.7:51234", "[::ffff:192.0.2.7]:443", "::FFFF:C000:207", "64:ff9b::192.0.2.7"];

describe.each(NAMES)("an address in %s", (name) => {
  test.each([["address"], [name], [`address=${name}`]])("is one caller with --key %s", async (key) => {
    const lines = [...NETWORK, ...FOUR].map((address) => at(name, address));
    const { code, out } = await simulated(lines, "--key", key);
    expect([code, out]).toEqual([0, expect.stringMatching(/^11 requests of 2 callers[^]*refuses 9 of 11 requests/)]);
    expect(out.includes(`The addresses are those of ${name}.`)).toBe(key === "address" && name !== "address");
  });
});

test("each notation is the caller that the gate's addressKey makes of it", async () => {
  for (const address of [...NETWORK, ...FOUR]) {
    const [, own] = addressKey(address) ?? [];
    expect((await simulated([{ ip: address }], "--key", "address")).out, address).toContain(`(${own as string})`);
  }
});

test("of two addresses the caller's is taken, and not those of the server or of the shipper", async () => {
  for (const line of [
    { host: { ip: "10.0.0.1" }, server_ip: "10.0.0.2", upstream_addr: "10.0.0.3:80", destination: { address: "10.0.0.4" }, remote_addr: "192.0.2.7", x_forwarded_for: "10.0.0.5" },
    { remote_ip: "10.0.0.9", client_ip: "192.0.2.7" },
    { zip: "192.0.2.1", ship: "192.0.2.2", ip: "192.0.2.7" },
    { client_ip: "-", remote_addr: "192.0.2.7" },
    { upstream_remote_addr: "10.0.0.9", ip: "192.0.2.7" },
    { proxy: { client_ip: "10.0.0.9" }, headers: { "x-real-ip": "192.0.2.7" } },
    { server: { remote_ip: "10.0.0.9" }, backend_client_ip: "10.0.0.8", forwarded: "for=192.0.2.7" },
    { session: { client_ip: "10.0.0.9" }, client_ip: "192.0.2.7" },
    { source: { address: "10.0.0.1" }, message: '192.0.2.7 - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 648 "-" "-"' },
  ]) expect((await simulated([line], "--key", "address")).out, JSON.stringify(line)).toContain("(192.0.2.7)");
});

test("a line without it where the others have it is looked through once more", async () => {
  const lines = [{ client_ip: "192.0.2.7" }, { client_ip: "-", remote_addr: "192.0.2.8" }, { remote_addr: "192.0.2.9" }, { client_ip: "192.0.2.7", remote_addr: "10.0.0.1" }];
  expect((await simulated(lines, "--key", "address")).out).toMatch(/^4 requests of 3 callers/);
});

test("a field that is named is looked at alone", async () => {
  expect(await simulated([{ remote_addr: "192.0.2.7" }], "--key", "address=peer")).toMatchObject({ code: 2, out: expect.stringContaining("got address=peer: 1 request, none with a caller there") as string });
});

test.each(["edgeClientIp", "edge_client_ip", "edge.client.ip", "EdgeClientIP", "edge-client-ip"])("the last words of a name count: %s", async (name) => {
  expect((await simulated([{ [name]: "::ffff:192.0.2.7" }, { [name]: "192.0.2.7" }], "--key", "address")).out).toMatch(/^2 requests of 1 caller/);
});

test("logfmt has it, too", async () => {
  const { out } = await simulated(['time=2026-03-05T20:33:53Z remote_addr=192.0.2.7 path="/"', "time=2026-03-05T20:33:53Z remote_addr=::ffff:192.0.2.7:443 path=/"], "--key", "address");
  expect(out).toMatch(/^2 requests of 1 caller/);
});

describe("a list", () => {
  test.each([
    ["x_forwarded_for", "192.0.2.7, 10.0.0.1"], ["http_x_forwarded_for", "192.0.2.7,10.0.0.1"], ["x-forwarded-for", " 192.0.2.7 , 10.0.0.1 , 10.0.0.2"],
    ["forwarded", "for=192.0.2.7;proto=https, for=10.0.0.1"], ["sourceIPs", ["192.0.2.7", "10.0.0.1"]], ["address", "unknown, 192.0.2.7"],
  ])("in %s: %j is its first address, which is said", async (name, list) => {
    for (const key of ["address", name]) {
      const { code, out } = await simulated([{ [name]: list }, { [name]: "192.0.2.7" }], "--key", key);
      expect([code, out]).toEqual([0, expect.stringMatching(/^2 requests of 1 caller/)]);
      expect(out).toMatch(/Of a list of addresses the first is the caller, such as (for=)?192\.0\.2\.7(;proto=https)?\./);
    }
  });
});

test("--ipv6-prefix is that of the gate", async () => {
  const lines = ["2001:db8:1:200::1", "2001:db8:1:2ff::1", "2001:db8:2::1"].map((ip) => ({ ip }));
  for (const [bits, callers] of [["64", 3], ["56", 2], ["32", 1]] as const) {
    const { out } = await simulated(lines, "--key", "address", "--ipv6-prefix", bits);
    expect(out).toMatch(new RegExp(`^3 requests of ${callers} caller`));
  }
  expect((await simulated(lines, "--key", "ip", "--ipv6-prefix", "56")).out).toContain("(2001:db8:1:200::/56)");
  for (const wrong of ["31", "65", "x", "6.4", ""]) expect(await simulated(lines, "--key", "address", "--ipv6-prefix", wrong)).toMatchObject({ code: 2, out: expect.stringContaining("Expected --ipv6-prefix") as string });
  expect(await simulated(lines, "--key", "user", "--ipv6-prefix", "56")).toMatchObject({ code: 2, out: "sluice-simulate: Expected no --ipv6-prefix: --key user is no address. For addresses write --key address=user\n" });
});

test("other callers stay as they are written: a user may be named ::1", async () => {
  const lines = ["::1", "0:0:0:0:0:0:0:1", "192.0.2.7", "192.0.2.7:80"].map((user) => ({ user, id: user, peer: user }));
  for (const key of ["user", "id", "peer"]) expect((await simulated(lines, "--key", key)).out).toMatch(/^4 requests of 4 callers/);
  expect((await simulated(lines, "--key", "address=peer")).out).toMatch(/^4 requests of 2 callers/);
});

test("without a member for an address the names are said, and how to name one", async () => {
  const { code, out } = await simulated([{ peer: "192.0.2.7", host: { ip: "10.0.0.1" } }], "--key", "address");
  expect([code, out]).toEqual([2, expect.stringMatching(/^sluice-simulate: Expected --key to be a field with a caller, got address: 1 request, none with a caller there\. Write --key address= with one of .*peer/)]);
});

test("each connection of one address is that caller, in the notations of Java, gRPC and sockets", async () => {
  const lines = ["/192.0.2.7:5432", "/192.0.2.7:5433", "host/192.0.2.7:5434", "ipv4:192.0.2.7:443", "ipv4:192.0.2.7:444", "tcp://192.0.2.7:5", "ipv6:[::ffff:192.0.2.7]:443"];
  for (const [name, key] of [["ip", "address"], ["ip", "ip"], ["peer.address", "peer.address"], ["peer", "address=peer"]] as const) {
    const { out } = await simulated(lines.map((address) => ({ [name]: address })), "--key", key);
    expect(out).toMatch(/^7 requests of 1 caller[^]*\(192\.0\.2\.7\)/);
    expect(out).not.toContain("no address");
  }
});

describe("a text that is no address is told", () => {
  test.each([
    ["JSON", [{ ip: "unix:" }, { ip: "192.0.2.7" }, { ip: "unix:" }, { ip: "a b" }], ["--key", "ip"], "3 requests have no address that can be read, such as a b. Each such text is a caller.\n"],
    ["one of them", [{ peer: "worker-1" }, { peer: "192.0.2.7" }], ["--key", "address=peer"], "1 request has no address that can be read, such as worker-1. Each such text is a caller.\n"],
    ["the combined format", ['unix: - - [05/Mar/2026:20:33:53 +0000] "GET / HTTP/1.1" 200 5'], ["--key", "address"], "1 request has no address that can be read, such as unix:. Each such text is a caller.\n"],
    ["a format", ["unix:|1790000000"], ["--key", "remote_addr", "--format", "$remote_addr|$time"], "1 request has no address that can be read, such as unix:. Each such text is a caller.\n"],
  ])("in %s", async (_, lines, args, note) => {
    expect((await simulated(lines, ...args)).out).toContain(note);
  });

  test("and a user is none", async () => {
    expect((await simulated([{ user: "ann" }], "--key", "user")).out).not.toContain("no address");
  });
});

describe("the surest name of each line", () => {
  const lines = [
    { remote_addr: "10.0.0.1" }, { remote_addr: "10.0.0.2", cf_connecting_ip: "192.0.2.1" }, { remote_addr: "10.0.0.1", cf_connecting_ip: "192.0.2.2" },
    { cf_connecting_ip: "192.0.2.3", remote_addr: "10.0.0.1" }, { remote_addr: "10.0.0.1", cf_connecting_ip: "-" }, { ip: "192.0.2.4" },
  ];
  const NOTE = "The addresses are those of cf_connecting_ip. Lines without it are counted by other fields: 2 requests by remote_addr, 1 request by ip.\n";

  test("counts, whichever line is first, and lines without it are told", async () => {
    const [first, ...others] = await Promise.all(lines.map((_, i) => simulated([...lines.slice(i), ...lines.slice(0, i)], "--key", "address")));
    expect(first?.out).toMatch(/^6 requests of 5 callers[^]*refuses 1 of 6 requests/);
    expect(first?.out).toContain(NOTE);
    for (const { out } of others) {
      expect(out).toMatch(/^6 requests of 5 callers[^]*refuses 1 of 6 requests/);
      expect(out).toContain(NOTE);
    }
  });

  test("stands in the findings as JSON, and lines that are no requests do not count", async () => {
    const { out } = await simulated([...lines, { time: "soon", ip: "192.0.2.9" }], "--key", "address", "--json");
    expect(JSON.parse(out)).toMatchObject({ log: { addressField: "cf_connecting_ip", otherAddressFields: [{ field: "remote_addr", requests: 2 }, { field: "ip", requests: 1 }] } });
  });

  test("an address of the service is the last choice, and is named", async () => {
    const { out } = await simulated([{ upstream_remote_addr: "10.0.0.9" }], "--key", "address");
    expect(out).toContain("The addresses are those of upstream_remote_addr.\n");
  });

  test("names that callers choose fill no memory, and change nothing", async () => {
    const many = Array.from({ length: 12_000 }, (_, i) => ({ headers: { [`x-${i}-client-ip`]: "10.0.0.1" }, client_ip: `192.0.2.${i % 200}` }));
    expect((await simulated(many, "--key", "address")).out).toMatch(/^12,000 requests of 200 callers[^]*The addresses are those of client_ip\.\n/);
  });
});
