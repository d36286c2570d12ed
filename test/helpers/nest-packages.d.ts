// What the page about NestJS imports of packages that are not installed here.
declare module "@nestjs/graphql" {
  export const GqlExecutionContext: { create(context: object): { getContext<Context>(): Context } };
}

declare module "@nestjs/swagger" {
  export function ApiTooManyRequestsResponse(options: object): ClassDecorator & MethodDecorator;
}
