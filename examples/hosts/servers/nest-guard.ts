/** NestJS 11, on Express or Fastify: `app.useGlobalGuards(new RateLimitGuard({ policy, key: (request) => ["user", request.user?.id] }))`. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { HttpException, type CanActivate, type ExecutionContext } from "@nestjs/common";
import { createGate, type AdapterOptions, type Gate } from "sluice/http";
import { answerOnNode, nodeReader, type NodeRequest } from "sluice/node";

/** Fastify's reply has Node's response as `raw`. Express's response is Node's. */
type Reply = ServerResponse & { raw?: ServerResponse; headers(fields: object): void; hijack(): void };

export class RateLimitGuard<Request extends NodeRequest = NodeRequest> implements CanActivate {
  readonly #gate: Gate<Request, [ExecutionContext]>;
  constructor(options: AdapterOptions<Request, [request: Request, response: ServerResponse], unknown, [ExecutionContext]>) { this.#gate = createGate(options, nodeReader); }
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const reply = context.switchToHttp().getResponse<Reply>();
    const response = reply.raw ?? reply;
    const request = context.switchToHttp().getRequest<Request>();
    const verdict = await this.#gate(request, [context]);
    // Fastify keeps its own header fields: copied to Node's response before the verdict's, and all are copied back.
    const fastify = reply.raw?.headersSent === false ? reply : undefined;
    for (const [name, value] of Object.entries(fastify?.getHeaders() ?? {})) response.setHeader(name, value as string);
    answerOnNode(verdict, request, response);
    if (verdict.outcome === "refuse") {
      if (reply.raw) reply.hijack();
      if (!response.writableEnded && !response.destroyed) await once(response, "close"); // `respond` may answer later
      throw new HttpException(JSON.parse(verdict.body) as object, verdict.status); // tells filters; the response is sent
    }
    fastify?.headers(response.getHeaders());
    return true;
  }
}
