// The keys that samples write, read from their syntax: `(request) => ["user", request.user?.id]` has the shape `["user", …]`.
import ts from "typescript";
import type { Row } from "./rows.js";

/** A part of a key: a text that the sample has, `{ prefix }` for an address by `addressKey`, or null for what a request says. */
export type Part = string | null | { readonly prefix: number };
/** A key that is a text, or a tuple. `undefined` is not known from the sample: a function of its own is given the key. */
export type Shape = Part | readonly Part[] | undefined;

const VERBS = /^(?:consume|peek|debit|credit|block|reset)$/;

/** The shapes of all keys in a row. The names of functions are looked up in the row. */
export function shapesOf({ text }: Row): Shape[] {
  const source = ts.createSourceFile("row.ts", text, ts.ScriptTarget.ES2022, true);
  const declared = new Map<string, ts.Node>();
  const found: Shape[] = [];
  const walk = (node: ts.Node, visit: (each: ts.Node) => void): void => ts.forEachChild(node, (each) => (visit(each), walk(each, visit)));
  walk(source, (node) => {
    if (ts.isFunctionDeclaration(node) && node.name) declared.set(node.name.text, node);
    if (!ts.isVariableDeclaration(node) || !node.initializer) return;
    const { name, initializer } = node;
    if (ts.isIdentifier(name)) declared.set(name.text, initializer);
    // const [email, network] = [emailOf(request), addressKey(request.ip)?.[1]]
    else if (ts.isArrayBindingPattern(name) && ts.isArrayLiteralExpression(initializer))
      name.elements.forEach((element, i) => ts.isBindingElement(element) && declared.set(element.name.getText(), initializer.elements[i] as ts.Node));
  });

  function returned(body: ts.Node, depth: number): Shape[] {
    const shapes: Shape[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isReturnStatement(node) && node.expression) shapes.push(...shapesIn(node.expression, depth + 1));
      else if (!ts.isFunctionLike(node)) ts.forEachChild(node, visit);
    };
    ts.forEachChild(body, visit);
    return shapes;
  }

  function shapesIn(node: ts.Node, depth = 0): Shape[] {
    const inside = (each: ts.Node | undefined): Shape[] => (each === undefined || depth > 9 ? [undefined] : shapesIn(each, depth + 1));
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node) || ts.isNonNullExpression(node) || ts.isAwaitExpression(node)) return inside(node.expression);
    if (ts.isFunctionLike(node)) return "body" in node && node.body ? (ts.isBlock(node.body as ts.Node) ? returned(node.body as ts.Node, depth) : inside(node.body as ts.Node)) : [undefined];
    if (ts.isConditionalExpression(node)) return [...inside(node.whenTrue), ...inside(node.whenFalse)];
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken) return inside(node.right);
    if (ts.isBinaryExpression(node) && /^(?:\?\?|\|\|)$/.test(node.operatorToken.getText())) return [...inside(node.left), ...inside(node.right)];
    if (ts.isStringLiteralLike(node)) return [node.text];
    if (ts.isNumericLiteral(node)) return [node.text];
    if (ts.isTemplateExpression(node)) return [null];
    if (ts.isObjectLiteralExpression(node)) return node.properties.flatMap((each) => (ts.isPropertyAssignment(each) ? inside(each.initializer) : [undefined]));
    if (ts.isArrayLiteralExpression(node)) {
      const parts = node.elements.map((each) => (ts.isSpreadElement(each) ? [null] : inside(each).map((part) => (part === undefined || Array.isArray(part) ? null : (part as Part)))));
      return parts.reduce<Part[][]>((keys, choices) => keys.flatMap((key) => choices.map((part) => [...key, part])), [[]]);
    }
    if (ts.isCallExpression(node)) {
      const name = node.expression.getText();
      if (name === "addressKey") return [["address", { prefix: Number(/ipv6Prefix: (\d+)/.exec(node.getText())?.[1] ?? 64) }]];
      return declared.has(name) ? inside(declared.get(name)) : [undefined];
    }
    if (ts.isElementAccessExpression(node)) return inside(node.expression).map((shape) => (Array.isArray(shape) ? (shape[1] as Part) : undefined));
    if (ts.isIdentifier(node) && node.text !== "undefined") return declared.has(node.text) ? inside(declared.get(node.text)) : [undefined];
    return [undefined];
  }

  walk(source, (node) => {
    if (ts.isPropertyAssignment(node) && node.name.getText() === "key") found.push(...shapesIn(node.initializer));
    if (ts.isMethodDeclaration(node) && node.name.getText() === "key") found.push(...shapesIn(node));
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && VERBS.test(node.expression.name.text)) found.push(...node.arguments.slice(0, 1).flatMap((key) => shapesIn(key)));
    if (ts.isCallExpression(node) && node.expression.getText() === "run") found.push(...node.arguments.slice(1, 2).flatMap((key) => shapesIn(key)));
  });
  return found;
}
