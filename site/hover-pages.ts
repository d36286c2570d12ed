// Which samples show types on hover. hovers.ts adds them; it needs the packages of the site.

// Each sample takes the compiler half a second, so the pages that readers come back to rarely go without.
const PAGES_WITH_HOVERS =
  /^(?:README|docs\/(?:README|concepts|client|options|adapters\/.*|stores\/.*|guides\/(?:in-flight|llm-budgets|rate-window-quota|settling|several-limiters|waiting|recipes|outages|choosing-a-key|testing-your-app)))\.md$/;

/** Marks the TypeScript samples of the page at `path`. */
export function withHovers(page: string, path: string): string {
  return PAGES_WITH_HOVERS.test(path) ? page.replace(/^```ts(?= \[|$)/gm, "```ts hovers") : page;
}

/** The page as its writer wrote it, for the files that programs read. */
export function withoutHovers(page: string): string {
  return page.replace(/^```ts hovers/gm, "```ts");
}
