import { MetadataScanner, type ModulesContainer } from "@nestjs/core";
import { metadataOf, type AskedLimit } from "./decorators.js";

/** A class of the application, such as a controller, or one of its handlers, with a `@RateLimit`. */
export interface LimitedPlace {
  readonly type: Class;
  readonly isController: boolean;
  /** "ReportsController.create", or "ReportsController" for the class. */
  readonly where: string;
  /** The handler, or all of the class. */
  readonly handlers: readonly NamedHandler[];
  /** What `@RateLimit` got. */
  readonly limit: Exclude<AskedLimit, false>;
}

/** A handler, and its name, such as "ReportsController.create". */
type NamedHandler = readonly [where: string, handler: object];

/** A class. */
export interface Class {
  readonly name: string;
  readonly prototype: object;
}

const scanner = new MetadataScanner();

/** Every class that has an own `@RateLimit`, and every handler. */
export function decoratedIn(modules: ModulesContainer): readonly LimitedPlace[] {
  return classesOf(modules).flatMap(({ type, isController }) => {
    const handlers = handlersOf(type);
    const own = handlers.map((each) => ({ type, isController, where: each[0], handlers: [each], limit: metadataOf(each[1]) }));
    const ofClass = { type, isController, where: type.name, handlers, limit: metadataOf(type) };
    return [ofClass, ...own].flatMap(({ limit, ...each }) => (limit ? [{ ...each, limit }] : []));
  });
}

/** The classes with guards of their own, or of their handlers, other than those that `isLimit` names. */
export function guardedIn(modules: ModulesContainer, isLimit: (guard: unknown) => boolean): readonly string[] {
  return classesOf(modules).flatMap(({ type }) => {
    const all = [type, ...handlersOf(type).map(([, handler]) => handler)].flatMap(guardsOf);
    return all.some((guard) => !isLimit(guard)) ? [type.name] : [];
  });
}

/** The guards of a class or a handler, by `@UseGuards`. */
function guardsOf(target: object): readonly unknown[] {
  return (readMetadata("__guards__", target) as readonly unknown[] | undefined) ?? [];
}

/** The guards and interceptors of a class or a handler. */
export function enhancersOf(target: object): readonly unknown[] {
  return [...guardsOf(target), ...((readMetadata("__interceptors__", target) as readonly unknown[] | undefined) ?? [])];
}

/** Whether a handler of a controller is a route. Others are handlers of messages. */
export function isRoute(handler: object): boolean {
  return readMetadata("path", handler) !== undefined;
}

/** Whether a handler of a provider resolves fields of GraphQL. */
export function isResolver(handler: object): boolean {
  const { getMetadataKeys } = Reflect as unknown as { getMetadataKeys(target: object): readonly unknown[] };
  return getMetadataKeys(handler).some((key) => String(key).startsWith("graphql:"));
}

/** Whether a resolver resolves a field of an object, and not a query, a mutation or a subscription. */
export function isField(handler: object): boolean {
  return readMetadata("graphql:resolve_property", handler) !== undefined;
}

function readMetadata(key: string, target: object): unknown {
  return (Reflect as unknown as { getMetadata(key: string, target: object): unknown }).getMetadata(key, target);
}

function classesOf(modules: ModulesContainer): ReadonlyArray<{ readonly type: Class; readonly isController: boolean }> {
  const found = new Map<Class, boolean>();
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype } of providers.values()) if (metatype?.prototype) found.set(metatype as Class, false);
    for (const { metatype } of controllers.values()) found.set(metatype as Class, true);
  }
  return [...found].map(([type, isController]) => ({ type, isController }));
}

function handlersOf({ name, prototype }: Class): readonly NamedHandler[] {
  return scanner.getAllMethodNames(prototype).map((method) => [
    `${name}.${method}`, (prototype as Readonly<Record<string, object>>)[method] as object,
  ]);
}
