import { HttpException, type CanActivate, type ExecutionContext } from "@nestjs/common";
import type { Request, Response } from "express";
import { applyToNode, createGate, nodeReader, refuseOnNode, type Gate, type GateOptions } from "sluice/http";

export class RateLimitGuard implements CanActivate {
  readonly #gate: Gate<Request, [ExecutionContext]>;

  constructor(options: GateOptions<Request, [ExecutionContext]>) {
    this.#gate = createGate(options, nodeReader);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const response = http.getResponse<Response>();
    const verdict = await this.#gate(http.getRequest<Request>(), [context]);
    if (verdict.outcome === "refuse") {
      refuseOnNode(response, verdict);
      throw new HttpException(JSON.parse(verdict.body) as object, verdict.status); // tells filters; the response is sent
    }
    if (verdict.outcome === "pass") applyToNode(response, verdict);
    return true;
  }
}
