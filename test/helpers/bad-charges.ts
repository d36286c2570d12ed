/** Wrong parts of a call of several, each with the text of its error. */
export const badCharges: readonly (readonly [wrong: Readonly<Record<string, unknown>>, complaint: string])[] = [
  ...[-5, Number.NaN, 0.5, Infinity, 2 ** 53, null, undefined].map(
    (cost) => [{ cost }, `Expected \`cost\` to be a whole number of at least 0, got ${cost}`] as const,
  ),
  [{ cost: "3" }, 'Expected `cost` to be a whole number of at least 0, got "3"'],
  [{ key: "" }, 'Expected `key` to be a non-empty string, got ""'],
  [{ key: ["user", "1"] }, "Expected `key` to be a non-empty string, got an array of 2"],
  [{ key: undefined }, "Expected `key` to be a non-empty string, got undefined"],
];
