// Which jobs the command line of `npm run check:runtimes` names.

/** The jobs of the runtimes whose names contain one of `names`, or all without names. Throws a RangeError for a name that none contains. */
export function chooseJobs(jobs, names) {
  const has = (runtime, name) => runtime.toLowerCase().includes(name.toLowerCase());
  const unknown = names.find((name) => !jobs.some(({ runtime }) => has(runtime, name)));
  const known = [...new Set(jobs.map(({ runtime }) => runtime))];
  if (unknown !== undefined) throw new RangeError(`Expected a part of one of ${known.join(", ")}, got "${unknown}"`);
  return names.length === 0 ? jobs : jobs.filter(({ runtime }) => names.some((name) => has(runtime, name)));
}
