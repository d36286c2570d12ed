/** The address of the documentation. Messages that name a page, and the README's links, start with it. */
export const DOCS = "https://github.com/sluice-js/sluice/blob/main/docs";
