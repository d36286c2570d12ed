// Keys as an operator types them: parts between spaces, or JSON for a key with spaces.
import type { Key } from "sluice";

export function textOfKey(key: Key): string {
  const parts = typeof key === "string" ? [key] : key;
  const text = parts.join(" ");
  return parts.every((part) => typeof part === "string" && /^[^\s"[]+$/.test(part)) && parts.length === (typeof key === "string" ? 1 : key.length) && (typeof key === "string" || key.length > 1) ? text : JSON.stringify(key);
}

export function keyOfText(text: string): Key {
  const trimmed = text.trim();
  if (/^["[]/.test(trimmed)) {
    try {
      return JSON.parse(trimmed) as Key;
    } catch {
      return trimmed; // the server says what is wrong with it
    }
  }
  const [first = "", ...more] = trimmed.split(/\s+/);
  return more.length === 0 ? first : [first, ...more];
}
