/** How often a property must have seen something: `all` times when it draws all of its cases, once when it draws few. */
export const seenTimes = (all: number): number => (globalThis.process?.env["SLUICE_ALL_CASES"] === "1" ? all : 1);
