/**
 * One value for all copies of this package in the process, made on first use: an application may load the ES module and
 * the CommonJS build side by side, and both must know what the other has refunded, claimed or warned of.
 *
 * The number in the symbol goes up when a value changes its shape.
 */
export function processWide<T>(name: string, make: () => T): T {
  const values = globalThis as unknown as Record<symbol, T>;
  return (values[Symbol.for(`sluice.1.${name}`)] ??= make());
}
