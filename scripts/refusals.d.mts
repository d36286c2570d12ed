/** The table of refusals for docs/client.md, with the line that begins it. */
export function refusalsTable(): string;
