/**
 * A limited service with a page for its operators: `npx tsx examples/admin/main.ts`, then open http://127.0.0.1:3001 and
 * sign in as `ann` with the password that it prints. With `REDIS_URL` several processes share limits, numbers and counts.
 */
import { randomBytes } from "node:crypto";
import { start } from "./service.js";

const { ADMIN_PASSWORD: chosen, REDIS_URL: redisUrl, PORT: port = 3000, ADMIN_PORT: adminPort = 3001 } = process.env;
const password = chosen ?? randomBytes(12).toString("base64url");
const { service, admin } = await start({ operators: { ann: password }, redisUrl, port: Number(port), adminPort: Number(adminPort) });
console.log(`The service: curl -i ${service}/inbox -H 'Authorization: Bearer token-of-bob'`);
console.log(`The page:    ${admin}, as ann with the password ${chosen === undefined ? password : "of ADMIN_PASSWORD"}`);
