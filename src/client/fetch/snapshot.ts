/** Copies headers in the form that they have, so that a wrapped `fetch` sees what the caller wrote. */
export function copyHeaders(headers: HeadersInit): HeadersInit {
  if (headers instanceof Headers) return new Headers(headers);
  const isList = Symbol.iterator in headers;
  // A list may be one that can be read only once.
  const pairs = Array.from((isList ? headers : Object.entries(headers)) as Iterable<[string, string]>, copyPair);
  return isList ? pairs : Object.fromEntries(pairs);
}

// A value may be a list, which `fetch` writes as text.
function copyPair(pair: Iterable<string>): [string, string] {
  return Array.from(pair, (part) => (Object(part) === part ? `${part}` : part)) as [string, string];
}

/**
 * Copies a form. Bytes are copied only if `isLate`, when they may be read after the call. Everything else is returned
 * as it is: text and a `Blob` never change, and a stream is sent once.
 */
export function copyBody(body: BodyInit, isLate: unknown): BodyInit {
  const bytes = body as Partial<ArrayBufferView> & ArrayBuffer;
  // Not by `instanceof`: a test environment may have an `ArrayBuffer` of its own.
  if (isLate && "byteLength" in Object(body)) {
    return new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset, bytes.byteLength).slice();
  }
  const Form = [URLSearchParams, FormData].find((each) => body instanceof each);
  // React Native's `FormData` cannot be read.
  if (!Form || !(Symbol.iterator in (body as object))) return body;
  const copy = new Form();
  for (const [name, value] of body as URLSearchParams) copy.append(name, value);
  return copy;
}
