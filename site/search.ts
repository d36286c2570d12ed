// How the site's search ranks results. VitePress sends these functions to the browser as text, so each uses only its arguments.

/** Options of MiniSearch, for the index and for the browser. */
export const SEARCH = {
  options: {
    /** A word as it is kept and looked for: without the end of a plural. Small words that stand on every page find nothing. */
    processTerm: (term: string): string | false => {
      const word = term.toLowerCase();
      if (/^(?:.|an?|and|are|as|at|be|by|can|do|does|for|from|how|if|in|instead|into|is|it|its|my|not|of|on|or|per|so|than|that|the|then|this|to|what|when|which|who|why|will|with|you|your)$/.test(word)) return false;
      return word.replace(/(?<=\w{2}[^su\W])s$/, "");
    },
  },
  searchOptions: {
    boost: { title: 6, titles: 2, text: 1 },
    /** Guides come first: the reference, the messages and the records say the same words more often. */
    boostDocument: (id: string): number => (id.includes("/api/") ? 0.2 : /\/(?:examples|changelog|performance|runtimes)/.test(id) ? 0.5 : /\/(?:warnings|errors|moving)/.test(id) ? 0.7 : 1),
  },
};
