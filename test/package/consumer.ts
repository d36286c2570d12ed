// A project of somebody's that has installed the packed tarball: an empty folder outside the repository.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

export type Entry = readonly [specifier: string, source: string];

const { subpaths } = JSON.parse(readFileSync("entries.json", "utf8")) as { subpaths: Record<string, { source: string }> };
/** `["sluice/express", "src/adapters/express.ts"]` and so on, the whole list. */
export const entries: Entry[] = Object.entries(subpaths).map(([subpath, { source }]) => [subpath.replace(/^\./, "sluice"), source]);

export class Consumer {
  readonly root = mkdtempSync(join(tmpdir(), "sluice-consumer-"));
  readonly #packages: string;

  /**
   * Unpacks the package here, without a registry: the file in `SLUICE_TARBALL`, or else the repository, packed now, which
   * needs `npm run build`. `link` takes packages from the folder `packages`, or from
   * here.
   */
  constructor(packages = ".") {
    this.#packages = packages;
    const target = join(this.root, "node_modules/sluice");
    mkdirSync(target, { recursive: true });
    execFileSync("tar", ["xzf", process.env["SLUICE_TARBALL"] ?? this.#pack(), "--strip-components=1", "-C", target]);
  }

  #pack(): string {
    // No scripts: they would build again.
    const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", this.root], { encoding: "utf8" });
    const [{ filename }] = JSON.parse(packed) as [{ filename: string }];
    return join(this.root, filename);
  }

  /** Writes a file of the project. */
  write(file: string, text: string): void {
    mkdirSync(dirname(join(this.root, file)), { recursive: true });
    writeFileSync(join(this.root, file), text);
  }

  /** Installs a package of ours here too: a framework, or its types. */
  link(...names: string[]): void {
    for (const name of names) {
      mkdirSync(dirname(join(this.root, "node_modules", name)), { recursive: true });
      const [own, other] = [this.#packages, "."].map((folder) => resolve(folder, "node_modules", name)) as [string, string];
      symlinkSync(existsSync(own) ? own : other, join(this.root, "node_modules", name), "dir");
    }
  }

  /** Runs a file with Node and resolves to what it printed. Rejects with its error output. */
  async node(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: this.root });
    return stdout.trim();
  }

  /** Compiles a folder; resolves to the compiler's complaints, "" when there are none. */
  async tsc(folder: string, compilerOptions: Record<string, unknown>): Promise<string> {
    this.write(`${folder}/tsconfig.json`, JSON.stringify({ compilerOptions: { target: "es2022", strict: true, ...compilerOptions } }));
    return this.node(resolve("node_modules/typescript/bin/tsc"), "-p", folder).catch((error: { stdout: string }) => error.stdout);
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
