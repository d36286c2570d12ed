// A process of the service of examples/admin. It tells its addresses, and each line of its record.
import { start } from "../../examples/admin/service.js";

const [redisUrl, prefix, password] = process.argv.slice(2) as [string, string, string];
process.once("disconnect", () => process.exit());
const { service, admin } = await start({ operators: { ann: password }, redisUrl, prefix, port: 0, adminPort: 0, audit: (line) => process.send?.({ line }) });
process.send?.({ service, admin });
