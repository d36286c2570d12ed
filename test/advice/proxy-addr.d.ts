declare module "proxy-addr" {
  import type { IncomingMessage } from "node:http";
  export default function proxyaddr(request: IncomingMessage, trust: unknown): string;
}
