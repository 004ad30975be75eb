// Lists the definitions of Go files as the distribution's own parser sees them: functions, methods, types, fields,
// interface methods, and the constants and variables of the package. Reads paths relative to the folder given, one a
// line, and prints `path<TAB>line<TAB>name`.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		rel := lines.Text()
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(os.Args[1], rel), nil, parser.SkipObjectResolution)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		tell := func(name *ast.Ident) {
			if name.Name != "_" {
				fmt.Printf("%s\t%d\t%s\n", rel, set.Position(name.Pos()).Line, name.Name)
			}
		}
		// The package's own variables; those in functions are no definitions of it.
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok {
				for _, spec := range general.Specs {
					if values, ok := spec.(*ast.ValueSpec); ok {
						for _, name := range values.Names {
							tell(name)
						}
					}
				}
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.ValueSpec:
				// A function in a variable is one wherever it stands; others of the package are told above.
				if len(node.Values) > 0 {
					if _, ok := node.Values[0].(*ast.FuncLit); ok {
						tell(node.Names[0])
					}
				}
			case *ast.FuncDecl:
				tell(node.Name)
			case *ast.TypeSpec:
				tell(node.Name)
			case *ast.StructType:
				for _, field := range node.Fields.List {
					for _, name := range field.Names {
						tell(name)
					}
				}
			case *ast.InterfaceType:
				for _, method := range node.Methods.List {
					for _, name := range method.Names {
						tell(name)
					}
				}
			}
			return true
		})
	}
}
