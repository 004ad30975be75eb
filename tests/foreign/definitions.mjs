// Lists the definitions of TypeScript files as the compiler sees them. Takes the path of the compiler and a folder,
// reads paths relative to it, one a line, and prints `path<TAB>line<TAB>name`.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [compiler, root] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(compiler);

function isFunction(value) {
  return ts.isArrowFunction(value) || ts.isFunctionExpression(value);
}

/** Whether a variable stands at the top of a file or namespace, or holds a function or class. */
function isDefinition(declaration) {
  const value = declaration.initializer;
  if (value && (isFunction(value) || ts.isClassExpression(value))) {
    return true;
  }
  const statement = declaration.parent.parent;
  return ts.isVariableStatement(statement) && (ts.isSourceFile(statement.parent) || ts.isModuleBlock(statement.parent));
}

for (const rel of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const file = ts.createSourceFile(rel, readFileSync(join(root, rel), "utf8"), ts.ScriptTarget.Latest, true);
  const tell = (name) => {
    if (!name) return;
    const text = ts.isComputedPropertyName(name) ? name.getText(file) : name.text;
    const line = file.getLineAndCharacterOfPosition(name.getStart(file)).line + 1;
    console.log([rel, line, text].join("\t"));
  };
  const pending = [file];
  while (pending.length > 0) {
    const node = pending.pop();
    if (
      ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) || ts.isEnumDeclaration(node) || ts.isEnumMember(node) ||
      ts.isMethodDeclaration(node) || ts.isMethodSignature(node) || ts.isPropertyDeclaration(node) ||
      ts.isPropertySignature(node) || ts.isGetAccessorDeclaration(node) || ts.isSetAccessorDeclaration(node)
    ) {
      tell(node.name);
    } else if (ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent)) {
      tell(node.name);
    } else if (ts.isPropertyAssignment(node) && isFunction(node.initializer) && !ts.isComputedPropertyName(node.name)) {
      tell(node.name);
    } else if (ts.isFunctionExpression(node) && node.name) {
      tell(node.name);
    } else if (ts.isVariableDeclaration(node) && isDefinition(node)) {
      const names = [node.name];
      while (names.length > 0) {
        const name = names.pop();
        if (ts.isIdentifier(name)) tell(name);
        else names.push(...name.elements.filter((element) => element.name).map((element) => element.name));
      }
    }
    ts.forEachChild(node, (child) => void pending.push(child));
  }
}
