"""Lists the definitions of Python files as the standard library's own parser sees them.

Reads paths relative to the folder given, one a line, and prints `path<TAB>line<TAB>name` for every function and class, and
for every name that is set to a lambda.
"""

import ast
import os
import sys

root = sys.argv[1]
for rel in sys.stdin.read().split("\n"):
    if not rel:
        continue
    with open(os.path.join(root, rel), "rb") as file:
        tree = ast.parse(file.read(), rel)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            print(rel, node.lineno, node.name, sep="\t")
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    print(rel, target.lineno, target.id, sep="\t")
