// Commands that install packages, as tabs for each package manager.

const MANAGERS: ReadonlyArray<readonly [name: string, add: string, flag: string, prefix: string]> = [
  ["npm", "npm install", "--save-dev", ""],
  ["pnpm", "pnpm add", "--save-dev", ""],
  ["yarn", "yarn add", "--dev", ""],
  ["bun", "bun add", "--dev", ""],
  ["deno", "deno add", "--dev", "npm:"],
];

/** The page with tabs in place of each `sh` block that does nothing but `npm install`. */
export function withPackageManagers(page: string): string {
  return page.replace(/^```sh\n((?:npm install [^\n&|;<>`]+\n)+)```$/gm, (_, commands: string) => {
    const tabs = MANAGERS.map(([name, add, dev, prefix]) => {
      const lines = commands.trimEnd().split("\n").map((line) => {
        const words = line.split(/ +/).slice(2).map((word) => (word === "--save-dev" || word === "-D" ? dev : word.startsWith("-") || word.startsWith(".") ? word : `${prefix}${word}`));
        return `${add} ${words.join(" ")}`;
      });
      return `\`\`\`sh [${name}]\n${lines.join("\n")}\n\`\`\``;
    });
    return `::: code-group\n${tabs.join("\n")}\n:::`;
  });
}
