import { fullScript } from "../script.js";

/**
 * The script of `script.ts` for keys in any slots of one node. Needs Redis 7 or Valkey.
 *
 * KEYS must share a slot, so the call has no KEYS. The keys follow the other arguments, and their number is the last
 * argument. Without KEYS, no node redirects the call. A redirected call would be unsafe: after ASK, a node treats a key
 * that has not arrived yet as absent, which means a full bucket. Here the `GET` of a key that is not on this node fails
 * instead. The `GET` of an absent key also fails while its slot moves away. The reply for such a key is nil.
 */
export const crossSlotScript = (): string => /* lua */ `#!lua flags=allow-cross-slot-keys
local KEYS, count = {}, tonumber(ARGV[#ARGV])
local first = #ARGV - count - 1
for i = 1, count do KEYS[i], ARGV[first + i] = ARGV[first + i], nil end
ARGV[first + count + 1] = nil
${fullScript()}
`;

/** Whether a server refused to run a script in a state where it still answers refusals. The script changed nothing. */
export function isRefusedWhole({ message }: Error): boolean {
  return /^(?:OOM|READONLY|MISCONF|NOREPLICAS|MASTERDOWN|CLUSTERDOWN) /.test(message) && !isFromWithin(message);
}

/** Whether a server cannot run {@link crossSlotScript}, or forbids it. The script changed nothing. */
export function isUnsupported({ message }: Error): boolean {
  return /^(?:ERR|NOPERM) /.test(message) && !isFromWithin(message);
}

// A script that fails half-way has changed some records. Servers name the script in such an error.
function isFromWithin(message: string): boolean {
  return / script: |@user_script/.test(message);
}
