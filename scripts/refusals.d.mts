/** The text of docs/guides/client-apis.md. */
export function refusalsPage(): string;
