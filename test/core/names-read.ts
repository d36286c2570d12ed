import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { OF_THE_PLATFORM } from "./pollution-names.js";

/** The names of all members that the code reads somewhere. */
export function namesRead(): string[] {
  const names = new Set<string>();
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts") && !/^(?:command|testing)\W/.test(file));
  const visit = (node: ts.Node): void => {
    const name =
      ts.isPropertyAccessExpression(node) ? node.name :
      ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent) ? (node.propertyName ?? node.name) :
      ts.isPropertySignature(node) ? node.name :
      ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InKeyword ? node.left :
      ts.isCallExpression(node) && /^(?:hasOwn|hasMember|memberOf|globalOf|Object\.hasOwn)$/.test(node.expression.getText()) ? node.arguments.find(ts.isStringLiteral) :
      ts.isElementAccessExpression(node) ? node.argumentExpression : undefined;
    if (name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteral(name))) names.add(name.text);
    ts.forEachChild(node, visit);
  };
  for (const file of files) visit(ts.createSourceFile(file, readFileSync(join("src", file), "utf8"), ts.ScriptTarget.Latest, true));
  return [...names].filter((name) => !OF_THE_PLATFORM.includes(name) && !Object.hasOwn(Object.prototype, name)).sort();
}
