const known = new Map<string, string>();

/**
 * The name of a field in lower case, which is how HTTP/2 sends it and how platforms keep it. Given another spelling, Node and
 * undici make and hash a new string for each field of each response: a third of what a field costs.
 */
export function lowerCase(name: string): string {
  let lower = known.get(name);
  if (lower === undefined) known.set(name, (lower = name.toLowerCase()));
  return lower;
}
