/**
 * A list that never changes. {@link appended} and {@link shifted} share its items, so that each takes constant time: a
 * queue of 100,000 callers would otherwise be copied for each of them.
 */
export interface List<T> {
  /** Shared with longer and shorter lists. Those of this list are at `from` to `to`. */
  readonly items: T[];
  readonly from: number;
  readonly to: number;
}

/** The list of these items. It takes the array over. */
export function listOf<T>(items: T[] = []): List<T> {
  return { items, from: 0, to: items.length };
}

/** The first item. Undefined for an empty list. */
export function firstOf<T>({ items, from, to }: List<T>): T | undefined {
  return from < to ? items[from] : undefined;
}

/** The first item that passes. */
export function findIn<T>({ items, from, to }: List<T>, pass: (item: T) => boolean): T | undefined {
  for (let i = from; i < to; i++) if (pass(items[i] as T)) return items[i];
  return undefined;
}

/** A copy of the items. */
export function itemsOf<T>({ items, from, to }: List<T>): T[] {
  return items.slice(from, to);
}

/** The list with one more item at its end. */
export function appended<T>(list: List<T>, item: T): List<T> {
  // Another list may already have put an item at that place.
  const { items, from, to } = list.items.length === list.to ? list : listOf(itemsOf(list));
  items.push(item);
  return { items, from, to: to + 1 };
}

/** The list without its first item. */
export function shifted<T>({ items, from, to }: List<T>): List<T> {
  const rest = { items, from: from + 1, to };
  // Drops the items that have left as soon as they are more than those that are left.
  return rest.from > 32 && rest.from * 2 > to ? listOf(itemsOf(rest)) : rest;
}

/** The list without the items that pass. */
export function withoutItems<T>(list: List<T>, isGone: (item: T) => boolean): List<T> {
  const first = firstOf(list);
  const isFirst = first !== undefined && isGone(first);
  const rest = isFirst ? shifted(list) : list;
  return findIn(rest, isGone) === undefined ? rest : listOf(itemsOf(rest).filter((item) => !isGone(item)));
}
