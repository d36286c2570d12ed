/**
 * Returns the value of `key` in a map that keeps the `max` most recently used keys. Creates the value if it is missing.
 *
 * Origins, paths and policy names come from outside the program, so each map of them needs a bound.
 */
export function getOrCreate<V>(map: Map<string, V>, key: string, max: number, create: () => V): V {
  const value = map.has(key) ? (map.get(key) as V) : create();
  map.delete(key);
  map.set(key, value);
  if (map.size > max) map.delete(map.keys().next().value as string);
  return value;
}
