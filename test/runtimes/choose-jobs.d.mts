/** The jobs of the runtimes that `names` name. */
export function chooseJobs<Job extends { readonly runtime: string }>(jobs: readonly Job[], names: readonly string[]): readonly Job[];
