import type { Readable } from "node:stream";
import { writtenAddress } from "../log/written-address.js";
import type { AddressFieldUse } from "../log/address-field.js";
import type { LogEntry, LogFields } from "../log/entry.js";
import { ANY_FORMAT, type LogFormat } from "../log/format/read-format.js";
import { InOrder } from "../log/in-order.js";
import { LineReader, SeenLines } from "../log/line-reader.js";
import { openLog, type LogFile, type TellProgress } from "../log/lines.js";
import { mergeByTime, type OrderedSource } from "../log/merge.js";
import { Misuse } from "../io.js";
import { nearestFirst } from "../log/names.js";
import { counted, flatText, printable } from "../text.js";
import { linesOfUnreadable, UnreadableCounts, type UnreadableLines } from "./unreadable.js";

/** What was read of a log. */
export interface LogSummary {
  readonly requests: number;
  readonly callers: number;
  /** The times of the first and the last request, in ms since 1970. 0 without one. */
  readonly firstAt: number;
  readonly lastAt: number;
  readonly unreadable: UnreadableLines;
  readonly withoutKey: number;
  /** Lines that came more than `windowMs` after younger ones. */
  readonly late: number;
  readonly windowMs: number;
  /** Whether callers are addresses. */
  readonly byAddress: boolean;
  /** The address that was taken of the first list of addresses. */
  readonly takenOfList?: string | undefined;
  /** Requests whose caller is a text and should be an address. Each text is a caller. */
  readonly notAddresses?: { readonly requests: number; readonly example: string } | undefined;
  /** For `--key address`, the member of the lines in which the addresses were found. */
  readonly addressField?: string | undefined;
  /** Other members, for lines without that one, the surest names first. */
  readonly otherAddressFields?: readonly AddressFieldUse[] | undefined;
}

/** Where a log is, and how it is read. */
export interface LogSource {
  readonly files: readonly string[];
  readonly stdin: Readable;
  readonly fields: LogFields;
  readonly format: LogFormat;
  readonly windowMs: number;
  /** How many bits of an IPv6 address make a caller. */
  readonly ipv6Prefix: number;
}

/**
 * Reads a log to its end, and gives on its requests in the order of their times. Throws a {@link Misuse} if none of its
 * lines can be read.
 */
export async function readLog(source: LogSource, give: (entry: LogEntry) => void, tell?: TellProgress): Promise<LogSummary> {
  const { files, stdin, fields, format, windowMs, ipv6Prefix } = source;
  let [requests, firstAt, lastAt] = [0, 0, 0];
  const counts = new LineCounts(files.length > 1, ipv6Prefix);
  const opened = await openLog(files, stdin, tell);
  const sources = opened.map((file) => new OrderedFile(file, windowMs, new LineReader(fields, format, counts.seen), counts));
  await mergeByTime(sources, (entry) => {
    if (requests === 0) firstAt = entry.at;
    lastAt = entry.at;
    requests += 1;
    give(entry);
  });
  counts.seen.check();
  const unreadable = counts.unreadable.lines();
  if (requests === 0 && counts.withoutKey > 0) throw noCaller(fields.key, counts);
  if (requests === 0 && unreadable.count > 0)
    throw new Misuse(
      `Expected a log with requests, got ${linesOfUnreadable(unreadable).join("\n")}` +
        (format === ANY_FORMAT ? "\nOther formats are read with --format." : ""),
    );
  const late = sources.reduce((sum, each) => sum + each.late, 0);
  const { callers, withoutKey, takenOfList, notAddresses } = counts;
  const [surest, ...otherAddressFields] = counts.seen.addresses.uses;
  const addresses = { byAddress: counts.byAddress, takenOfList, notAddresses, addressField: surest?.field, otherAddressFields };
  return { requests, callers, firstAt, lastAt, unreadable, withoutKey, late, windowMs, ...addresses };
}

const MOST_NAMES_SHOWN = 12;

function noCaller(key: string, { withoutKey, seen }: LineCounts): Misuse {
  const names = nearestFirst(seen.names, key).filter((name) => name !== key).slice(0, MOST_NAMES_SHOWN);
  const have = key === "address" ? "Write --key address= with one of" : "The lines have:";
  const cure = names.length === 0 ? "Use another field" : `${have} ${names.join(", ")}`;
  const read = `${counted(withoutKey, "request")}, none with a caller there${seen.names.has(key) ? ", where it is empty" : ""}`;
  return new Misuse(printable(`Expected --key to be a field with a caller, got ${key}: ${read}. ${cure}`));
}

/** What the lines of all files have in common. */
class LineCounts {
  readonly seen = new SeenLines();
  readonly unreadable: UnreadableCounts;
  withoutKey = 0;
  byAddress = false;
  takenOfList: string | undefined;
  readonly #callers = new Map<string, string>();
  /** Those that should be addresses, with their requests. */
  readonly #texts = new Map<string, number>();
  readonly #ipv6Prefix: number;

  constructor(hasSeveral: boolean, ipv6Prefix: number) {
    this.#ipv6Prefix = ipv6Prefix;
    this.unreadable = new UnreadableCounts(hasSeveral);
  }

  get callers(): number {
    return new Set(this.#callers.values()).size;
  }

  get notAddresses(): LogSummary["notAddresses"] {
    const [example] = [...this.#texts.keys()].toSorted();
    return example === undefined ? undefined : { requests: [...this.#texts.values()].reduce((a, b) => a + b), example };
  }

  /** The one text for a caller, so that memory grows with callers and not with requests. */
  caller(key: string, isAddress: boolean): string {
    const known = this.#callers.get(key) ?? this.#begin(key, isAddress);
    const requests = this.#texts.size === 0 ? undefined : this.#texts.get(known);
    if (requests !== undefined) this.#texts.set(known, requests + 1);
    return known;
  }

  #begin(key: string, isAddress: boolean): string {
    this.byAddress ||= isAddress;
    // A limiter counts all notations of an address, and all addresses of an IPv6 network, as one caller.
    const address = isAddress ? writtenAddress(key, this.#ipv6Prefix) : undefined;
    this.takenOfList ??= address?.taken === undefined ? undefined : flatText(address.taken);
    const own = flatText(address?.key[1] ?? key);
    if (isAddress && address === undefined) this.#texts.set(own, 0);
    this.#callers.set(flatText(key), own);
    return own;
  }
}

/** The requests of one file, sorted within the window. */
class OrderedFile implements OrderedSource {
  readonly #file: LogFile;
  readonly #reader: LineReader;
  readonly #counts: LineCounts;
  readonly #order: InOrder;
  #ready: LogEntry[] = [];
  #head = 0;
  #line = 0;

  constructor(file: LogFile, windowMs: number, reader: LineReader, counts: LineCounts) {
    this.#file = file;
    this.#reader = reader;
    this.#counts = counts;
    this.#order = new InOrder(windowMs, (entry) => void this.#ready.push(entry));
  }

  get late(): number {
    return this.#order.late;
  }

  get next(): LogEntry | undefined {
    return this.#ready[this.#head];
  }

  take(): void {
    this.#head += 1;
  }

  async more(): Promise<boolean> {
    const { done, value } = await this.#file.lines.next();
    [this.#ready, this.#head] = [this.#ready.slice(this.#head), 0];
    if (done === true) this.#order.end();
    else for (const text of value) this.#read(text);
    return done !== true;
  }

  #read(text: string): void {
    this.#line += 1;
    if (text === "" || text.trim() === "") return;
    const entry = this.#reader.read(text);
    if (entry === undefined) return;
    if (typeof entry === "string") this.#counts.unreadable.add(entry, this.#file.name, this.#line, text);
    else if (entry.key === "") this.#counts.withoutKey += 1;
    else {
      entry.key = this.#counts.caller(entry.key, this.#reader.isAddress);
      this.#order.add(entry);
    }
  }
}
