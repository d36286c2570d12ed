import { HttpException, Injectable, type CanActivate, type ExecutionContext } from "@nestjs/common";
import type { Request, Response } from "express";
import { applyToNode, createGate, nodeReader } from "sluice/http";
import { addressKey } from "../address-key.js";

@Injectable()
export class RateLimitGuard implements CanActivate {
  readonly #gate = createGate<Request>(
    {
      policy: { name: "api", capacity: 100, refill: { tokens: 100, everyMs: 900_000 } },
      key: (request) => addressKey(request.ip, { ipv6Prefix: 56 }),
    },
    nodeReader,
  );

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const verdict = await this.#gate(http.getRequest<Request>());
    if (verdict.outcome === "skip") return true;
    if (verdict.outcome === "pass") return applyToNode(response, verdict), true;
    for (let i = 0; i < verdict.fields.length; i += 2) {
      const [name, value] = verdict.fields.slice(i, i + 2) as [string, string];
      if (!name.startsWith("content-")) response.setHeader(name, value); // Nest sends the body and describes it
    }
    throw new HttpException(JSON.parse(verdict.body) as object, verdict.status);
  }
}
