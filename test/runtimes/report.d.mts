interface Told {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly error?: string;
}

export function readOutput(job: { readonly column: string; readonly command: readonly string[] }, code: number | string | null, output: string): Told[];
