/**
 * The value of `key` in a map that keeps the `most` keys last asked for; made when it is not there.
 *
 * Origins, paths and policy names come from outside, so whatever is remembered by them has to have an end.
 */
export function recall<V>(map: Map<string, V>, key: string, most: number, make: () => V): V {
  const value = map.has(key) ? (map.get(key) as V) : make();
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value as string);
  return value;
}
