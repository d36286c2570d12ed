/** Where the documentation is. Every message that names a page starts from here, and so do the README's links. */
export const DOCS = "https://github.com/sluice-js/sluice/blob/main/docs";
