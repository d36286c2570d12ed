// Stores that count right and take two buckets for one, each with one mistake.
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { crc32 } from "node:zlib";
import { RATE, type Bucket } from "../../../src/core/bucket.js";
import { costAt } from "../../../src/core/limit.js";
import type { Policy } from "../../../src/index.js";
import { FakeServer, right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

const isCopy = (policy: Policy): boolean => (policy.maxCost as number | undefined) === undefined;
/** A copy of a policy as a store takes it that does not notice. */
const asRates = (policy: Policy): Policy => (isCopy(policy) ? { ...policy, limits: policy.limits.map((limit) => ({ ...limit, kind: RATE })) as never } : policy);

const named = (name: (key: string) => string) => wrongStore({ name: (policy, key) => JSON.stringify([policy.name, name(key)]) });
const utf8 = (key: string): string => new TextDecoder().decode(new TextEncoder().encode(key));
const sha256 = (key: string): Buffer => createHash("sha256").update(key).digest();
const objects = new WeakMap<object, Record<string, true>>();

/** The same for printable ASCII, so that a hash of it is wrong only where it is too short. */
const ascii = (key: string): string => key.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
/** The first `bits` bits of the SHA-256 of `text`. */
const bitsOf = (text: string, bits: number): string => String(createHash("sha256").update(ascii(text)).digest().readUInt32BE(0) >>> (32 - bits));
const folded = (text: string, start: number, step: (hash: number, code: number) => number): string =>
  String(ascii(text).split("").reduce((hash, unit) => step(hash, unit.charCodeAt(0)) | 0, start));

/** A reset that deletes every row whose key matches the caller's key as the pattern that `pattern` makes of it. */
function resetsLike(pattern: (key: string) => RegExp): typeof RightStore {
  return wrongStore({
    reset(policy, key) {
      const { rows } = this.server;
      return this.atomically(() => {
        for (const name of rows.keys()) {
          const [owner, text] = FakeServer.ownerOf(name);
          if (text === key || (owner === policy.name && text !== undefined && pattern(key).test(text))) rows.delete(name);
        }
      });
    },
  });
}

/** Adjusts another key than it is told. */
function adjustsAs(change: (key: string, isRefund: boolean) => string): typeof RightStore {
  return wrongStore({ adjust(policy, key, changes) { return right.adjust.call(this, policy, change(key, costAt(changes, 0) < 0), changes); } });
}

const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

export const wrongKeys: readonly WrongStore[] = [
  ["trims keys", named((key) => key.trim()), "keys · similar texts"],
  ["collapses spaces", named((key) => key.replace(/\s+/g, " ")), "keys · similar texts"],
  ["lower-cases keys", named((key) => key.toLowerCase()), "keys · similar texts"],
  ["normalizes unicode", named((key) => key.normalize("NFKC")), "keys · similar texts"],
  ["writes keys as UTF-8", named(utf8), "keys · similar texts"],
  ["drops emoji modifiers and joiners", named((key) => key.replace(/\p{Emoji_Modifier}|\u200d/gu, "")), "keys · similar texts"],
  ["takes double quotes away", named((key) => key.replaceAll('"', "")), "keys · similar texts"],
  ["takes single quotes away", named((key) => key.replaceAll("'", "")), "keys · similar texts"],
  ["takes spaces without a width away", named((key) => key.replace(/[\u200b\ufeff]/g, "")), "keys · similar texts"],
  ["ends keys at the first NUL", named((key) => key.split("\0")[0] as string), "keys · similar texts"],
  ["cuts keys at 255 characters", named((key) => key.slice(0, 255)), "keys · similar texts"],
  ["takes keys for numbers", named((key) => (Number.isFinite(Number(key)) && key.trim() !== "" ? String(Number(key)) : key)), "keys · similar texts"],
  ["decodes percent signs and ampersands", named((key) => key.replace(/%([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))).replace("&amp;", "&")), "keys · similar texts"],
  ["uses the text in braces as the key", named((key) => /\{(.+)\}/.exec(key)?.[1] ?? key), "keys · similar texts"],
  [
    "looks keys up in a plain object",
    wrongStore({
      load(policy, key, now) {
        const known = objects.get(this.server) ?? {};
        objects.set(this.server, Object.assign(known, {}));
        // A plain object has "constructor" from the start.
        if (key in known && !Object.hasOwn(known, key)) throw new Error("Expected a record, got a function");
        return right.load.call(this, policy, key, now);
      },
    }),
    "keys · similar texts",
  ],
  ["removes a doubled bracket", named((key) => key.replace(/^\(\(/, "(")), "keys · similar texts"],
  ["shares keys across policies", wrongStore({ name: (_policy, key) => key }), "keys · policies and limits"],
  ["joins names with a dash", wrongStore({ name: (policy, key) => `${policy.name}-${key}` }), "keys · policies and limits"],
  [
    "joins the key and the limit's name with a dot",
    wrongStore({
      save(policy, key, buckets) {
        policy.limits.forEach((limit, i) => this.server.rows.set(`${policy.name} ${key}.${limit.name}`, new Map([["", { ...(buckets[i] as Bucket) }]])));
      },
      load(policy, key) {
        return policy.limits.map(({ name, unitsPerMs, unitsPerToken }) => ({
          ...(this.server.rows.get(`${policy.name} ${key}.${name}`)?.get("") ?? { spent: 0, at: 0, unitsPerMs, unitsPerToken }),
        }));
      },
    }),
    "keys · policies and limits",
  ],
  ["resets by LIKE, so that % in a key stands for any text", resetsLike((key) => new RegExp(`^${literally(key).replaceAll("%", ".*")}$`, "s")), "keys · similar texts"],
  ["resets by LIKE, so that _ in a key stands for any character", resetsLike((key) => new RegExp(`^${literally(key).replaceAll("_", ".")}$`, "s")), "keys · similar texts"],
  ["resets by a glob, so that * in a key stands for any text", resetsLike((key) => new RegExp(`^${literally(key).replaceAll("\\*", ".*")}$`, "s")), "keys · similar texts"],
  ["resets all keys that begin with the key", resetsLike((key) => new RegExp(`^${literally(key)}`)), "keys · similar texts"],
  [
    "resets the key under all policies",
    wrongStore({
      reset(_policy, key) {
        const { rows } = this.server;
        return this.atomically(() => {
          for (const name of rows.keys()) if (FakeServer.ownerOf(name)[1] === key) rows.delete(name);
        });
      },
    }),
    "keys · policies and limits",
  ],
  ["refunds to a key in lower case", adjustsAs((key, isRefund) => (isRefund ? key.toLowerCase() : key)), "keys · similar texts"],
  ["debits a trimmed key", adjustsAs((key, isRefund) => (isRefund ? key : key.trim() || key)), "keys · similar texts"],
  ["blocks a trimmed key", wrongStore({ block(policy, key, forMs) { return right.block.call(this, policy, key.trim() || key, forMs); } }), "keys · similar texts"],
  ["blocks the key under all policies", wrongStore({ async block(policy, key, forMs) {
      const names = [...this.server.rows.keys()].map((name) => FakeServer.ownerOf(name)).filter(([, other]) => other === key);
      for (const [name] of names) await right.block.call(this, { ...policy, name: name as string }, key, forMs);
      await right.block.call(this, policy, key, forMs);
    } }), "keys · policies and limits"],
  ["decodes percent signs", named((key) => key.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))), "keys · similar texts"],
  ["encodes spaces as + and leaves + as it is", named((key) => key.replaceAll(" ", "+")), "keys · similar texts"],
  ["decodes + to a space", named((key) => key.replaceAll("+", " ")), "keys · similar texts"],
  ["normalizes keys as paths", named((key) => posix.normalize(key)), "keys · similar texts"],
  ["removes dot segments as URL does", named((key) => (/^[!-~]+$/.test(key) ? new URL(key.replace(/[?#%:\\]/g, "."), "http://host/").pathname : key)), "keys · similar texts"],
  ["cuts keys at ? and #", named((key) => key.split(/[?#]/)[0] as string), "keys · similar texts"],
  ["collapses slashes", named((key) => key.replace(/\/+/g, "/")), "keys · similar texts"],
  ["drops a slash at the end", named((key) => key.replace(/\/$/, "")), "keys · similar texts"],
  ["keeps 16 bits of a digest of the key", named((key) => bitsOf(key, 16)), "L13, keys · 2,000 keys"],
  ["keeps 16 bits of a digest of the policy's name and the key", wrongStore({ name: (policy, key) => bitsOf(`${policy.name} ${key}`, 16) }), "L13, keys · 2,000 keys"],
  ["keeps 24 bits of a digest of the key", named((key) => bitsOf(key, 24)), "keys · similar texts"],
  ["keeps 32 bits of a digest of the key", named((key) => bitsOf(key, 32)), "keys · similar texts"],
  ["keeps a CRC-32 of the key", named((key) => String(crc32(ascii(key)))), "keys · similar texts"],
  ["keeps a CRC-32 of the policy's name and the key", wrongStore({ name: (policy, key) => String(crc32(ascii(`${policy.name} ${key}`))) }), "keys · similar texts"],
  ["keeps Java's hash of the key", named((key) => folded(key, 0, (hash, code) => Math.imul(hash, 31) + code)), "keys · similar texts"],
  ["keeps djb2 of the key", named((key) => folded(key, 5_381, (hash, code) => Math.imul(hash, 33) + code)), "keys · similar texts"],
  ["keeps FNV-1a of the key", named((key) => folded(key, 0x811c9dc5, (hash, code) => Math.imul(hash ^ code, 0x01000193))), "keys · similar texts"],
  ["cuts keys at 8,000 characters", named((key) => key.slice(0, 8_000)), "keys · similar texts"],
  ["cuts keys at 100 characters", named((key) => key.slice(0, 100)), "keys · similar texts"],
  ["keeps the two ends of a long key", named((key) => (key.length > 2_000 ? key.slice(0, 1_000) + key.slice(-1_000) : key)), "keys · similar texts"],
  ["keeps the length and the end of a long key", named((key) => (key.length > 300 ? `${key.length} ${key.slice(-200)}` : key)), "keys · similar texts"],
  ["keeps a digest in place of a long key, and the key itself in place of a short one", named((key) => (key.length > 100 ? sha256(key).toString("hex") : key)), "keys · a key that looks like"],
  ["marks a digest with #, and lets short keys begin with #", named((key) => (key.length > 100 ? `#${createHash("sha256").update(key).digest("base64url")}` : key)), "keys · a key that looks like"],
  ["keeps half a digest of a long key beside short keys", named((key) => (key.length > 100 ? `#${createHash("sha512").update(key).digest("hex").slice(0, 64)}` : key)), "keys · a key that looks like"],
  [
    "counts with numbers that a copy of a policy lacks",
    wrongStore({
      load(policy, key, now) {
        return isCopy(policy) ? policy.limits.map(() => ({ spent: 0, at: now, unitsPerMs: 1, unitsPerToken: 1 })) : right.load.call(this, policy, key, now);
      },
      decide(buckets, policy, costs, now) { return right.decide.call(this, buckets, asRates(policy), costs, now); },
      foresee(policy, key, costs, now) { return right.foresee.call(this, asRates(policy), key, costs, now); },
      change(buckets, policy, changes, now, at) { return right.change.call(this, buckets, asRates(policy), changes, now, at); },
    }),
    "L9 · bad input",
  ],
];
