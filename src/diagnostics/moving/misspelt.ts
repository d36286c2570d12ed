/**
 * Returns the text that follows an unknown option: the right place of a misplaced one, or the nearest known name.
 * Undefined when there is no advice.
 */
export function replacementOf(name: string, known: readonly string[]): string | undefined {
  if (["capacity", "refill", "limits", "name"].includes(name)) return ". It belongs in `policy: { … }`";
  if (name === "clock") return ". It belongs to the store, as in `new MemoryStore({ clock })`";
  if (["breaker", "sharedBy"].includes(name)) {
    return `. It is an option of the store, such as \`new RedisStore(client, { ${name} })\``;
  }
  const meant = [1, 2].flatMap((edits) => known.filter((each) => isNear(name.toLowerCase(), each.toLowerCase(), edits)))[0];
  return meant === undefined ? undefined : `. Did you mean \`${meant}\`?`;
}

/**
 * Whether at most `edits` edits turn `a` into `b`. An edit changes, adds or removes a letter, or swaps two neighbors.
 */
function isNear(a: string, b: string, edits: number): boolean {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const [from, to] = [a.slice(i), b.slice(i)];
  if (from === to || edits === 0) return from === to;
  const isSwapped = from[0] === to[1] && from[1] === to[0];
  return (
    isNear(from.slice(1), to, edits - 1) ||
    isNear(from, to.slice(1), edits - 1) ||
    isNear(from.slice(1), to.slice(1), edits - 1) ||
    (isSwapped && isNear(from.slice(2), to.slice(2), edits - 1))
  );
}
