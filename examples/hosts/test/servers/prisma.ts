// A client of Prisma without models, as `prisma generate` makes it with `engineType = "client"`: the command loads a
// program from the network, and the client needs none.
import { createRequire } from "node:module";
import { PrismaPg } from "@prisma/adapter-pg";
import { getPrismaClient } from "@prisma/client/runtime/client";
import type { Pool } from "pg";
import type { RawPrisma } from "../../any-client.js";

const require = createRequire(import.meta.url);
const COMPILER = "@prisma/client/runtime/query_compiler_fast_bg.postgresql";

const PrismaClient = getPrismaClient({
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "0",
  activeProvider: "postgresql",
  inlineSchema: 'datasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: async () => require(`${COMPILER}.js`) as never,
    getQueryCompilerWasmModule: async () => {
      const { wasm } = require(`${COMPILER}.wasm-base64.js`) as { readonly wasm: string };
      return new WebAssembly.Module(Buffer.from(wasm, "base64"));
    },
    importName: "./query_compiler_fast_bg.js",
  },
}) as new (options: { readonly adapter: PrismaPg }) => unknown;

/** A client over a pool. The pool is the caller's. */
export function prismaOver(pool: Pool): RawPrisma {
  return new PrismaClient({ adapter: new PrismaPg(pool) }) as RawPrisma;
}
