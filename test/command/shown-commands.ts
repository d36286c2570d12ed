// The commands that pages show: whole lines of shell blocks, and code within a sentence.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface ShownCommand {
  readonly page: string;
  /** With the pipes before it, as a person copies it. */
  readonly command: string;
}

/** The pages, and the programs that people copy. Records of decisions are history. */
export function pagesWithCommands(): string[] {
  const files = execFileSync("git", ["ls-files", "*.md", "examples/*.ts"], { encoding: "utf8" }).split("\n");
  return files.filter((file) => file !== "" && !/^(?:\.changeset|bench|docs\/decisions|test)\/|^CHANGELOG/.test(file));
}

/** The commands of a page. A bare name, such as `npx sluice peek`, is no command. */
export function commandsIn(page: string, text = readFileSync(page, "utf8")): ShownCommand[] {
  const shell = /```(?:sh|bash|console|shell)\n([^]*?)```/g;
  const lines = [...text.matchAll(shell)].flatMap(([, block = ""]) => block.replaceAll(/\\\n\s*/g, "").split("\n").map((line) => line.trim().replace(/^\$ /, "")));
  const inline = [...text.replaceAll(/```[^]*?```/g, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  const isWhole = (code: string): boolean => /(?:^|\| *|&& *)(?:NODE_OPTIONS="[^"]*" )?npx sluice(?:-simulate)? \S+ \S/.test(code);
  return [...lines, ...inline].filter(isWhole).map((command) => ({ page, command }));
}
