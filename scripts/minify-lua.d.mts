import type { Plugin } from "esbuild";

export declare function minifyLua(lua: string, short?: ReadonlyMap<string, string>): string;
export declare function shortNames(scripts: readonly string[]): Map<string, string>;
export declare const luaInBuild: Plugin;
export declare function luaInTests(): { name: string; enforce: "pre"; transform(code: string, id: string): string | undefined };
