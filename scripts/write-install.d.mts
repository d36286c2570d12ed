export declare const packageFor: (version: string) => string;
export declare function installPages(version: string): ReadonlyArray<{ readonly path: string; readonly now: string; readonly needed: string }>;
