import { expected } from "../../core/check.js";
import { UNIDENTIFIED, type Key } from "../../core/key.js";
import { contain, isPromise } from "../user-functions.js";

// Law L16. Clients refuse headers of more than about 16 KB, and a policy with several limits repeats the bytes.
const MOST_BYTES = 128;

/**
 * Returns the bytes that identify the bucket of `caller`, as the `partitionKey` option makes them. Call it before
 * anything is charged, because it throws what the option throws and for wrong bytes. Undefined for callers without a
 * key.
 */
export function partitionsOf(partitionKey: (key: Key) => Uint8Array): (caller: Key) => Uint8Array | undefined {
  const find = contain<Key, unknown>("partitionKey", partitionKey, Infinity);
  return (caller) => {
    if (caller === UNIDENTIFIED) return undefined;
    const made = find(caller);
    // The fields are written without waiting. A rejection without a handler would end the process.
    if (isPromise(made)) made.catch(() => undefined);
    return checkPartition(made, "partitionKey()");
  };
}

/** Returns a copy of `bytes`. Throws a TypeError unless they are a Uint8Array, and a RangeError above 128 bytes. */
export function checkPartition(bytes: unknown, name: string): Uint8Array {
  if (!isBytes(bytes)) throw new TypeError(expected(name, "a Uint8Array", bytes));
  if (bytes.length > MOST_BYTES) {
    throw new RangeError(`Expected \`${name}\` to have at most ${MOST_BYTES} bytes, got ${bytes.length}. Shorten it with a hash`);
  }
  return new Uint8Array(bytes);
}

// Checked by name, because a test environment may have another class `Uint8Array`. A Buffer has this name, too.
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && (value as Uint8Array)[Symbol.toStringTag] === "Uint8Array";
}
