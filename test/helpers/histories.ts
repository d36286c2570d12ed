/** How many random histories a test draws: `few` in `npm test`, times SLUICE_HISTORIES in a long run (with `--testTimeout=0`). */
export const histories = (few: number): number => few * Number(process.env["SLUICE_HISTORIES"] ?? 1);
