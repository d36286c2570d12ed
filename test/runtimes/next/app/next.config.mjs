import { fileURLToPath } from "node:url";

// The packages are in the folder above.
const root = fileURLToPath(new URL("../", import.meta.url));

export default { outputFileTracingRoot: root, turbopack: { root } };
