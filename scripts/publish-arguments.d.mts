export declare function tagOf(version: string): "next" | "latest";
export declare function publishArguments(what: {
  readonly file: string;
  readonly version: string;
  readonly isRehearsal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
}): string[];
