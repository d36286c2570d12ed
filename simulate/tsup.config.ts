import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/main.ts"],
  format: "esm",
  target: "es2022",
  platform: "node",
  outDir: "dist",
  clean: true,
  external: ["sluice"], // the peer: a copy of its own could not read the policies of a user's module
});
