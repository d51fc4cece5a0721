package skillyard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/skillyard/skillyard/"

// homes are the packages that may import some modules. That a protocol is spelled in
// Protocol Buffers, or carried by gRPC, is nobody else's business.
var homes = map[string][]string{
	"github.com/a2aproject/a2a-go": {"wire/pb"},
	"google.golang.org/protobuf":   {"wire/pb", "server/grpcapi"},
	"google.golang.org/grpc":       {"server/grpcapi", "server"},
	module + "wire/pb":             {"server/grpcapi", "server"},
}

// shared are what bindings share. Of each other they know nothing.
var shared = []string{"server/access", "server/binding", "server/stream"}

// levels are the floors of the house, longest prefix first. A package imports only
// packages of its own level or below.
var levels = []struct {
	prefix string
	level  int
}{
	{"cmd", 5},
	{"server", 4},
	{"engine", 3}, {"agentcard", 3},
	{"skills", 2}, {"client", 2},
	{"wire", 1}, {"mappers", 1}, {"taskstore", 1}, {"configs", 1}, {"guard", 1},
	{"a2a", 0},
}

func level(pkg string) (int, bool) {
	for _, l := range levels {
		if within(pkg, l.prefix) {
			return l.level, true
		}
	}
	return 0, false
}

// visit calls f for each Go file of the product.
func visit(t *testing.T, f func(path, pkg string, file *ast.File, set *token.FileSet)) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch name := d.Name(); {
			case path != "." && strings.HasPrefix(name, "."), name == "testdata", name == "node_modules":
				return filepath.SkipDir
			case path == "bench", path == "interop":
				return filepath.SkipDir // modules of their own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if _, ok := level(pkg); !ok {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		f(path, pkg, file, set)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// within reports whether a path is a prefix's or below it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func imports(file *ast.File) []string {
	var paths []string
	for _, i := range file.Imports {
		if p, err := strconv.Unquote(i.Path.Value); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

func TestHouse_layers(t *testing.T) {
	files := 0
	visit(t, func(path, pkg string, file *ast.File, _ *token.FileSet) {
		files++
		test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(pkg, "test")
		own, _ := level(pkg)
		for _, p := range imports(file) {
			for prefix, pkgs := range homes {
				if within(p, prefix) && pkg != strings.TrimPrefix(prefix, module) && !slices.Contains(pkgs, pkg) && !test {
					t.Errorf("%s: only %v import %s", path, pkgs, prefix)
				}
			}
			if p == "net/http" && (own < 2 || within(pkg, "engine")) && !test {
				t.Errorf("%s: the wire and the engine know no HTTP", path)
			}
			dep, ours := strings.CutPrefix(p, module)
			if !ours {
				if pkg == "a2a" && !test && strings.Contains(strings.Split(p, "/")[0], ".") {
					t.Errorf("%s: a2a imports the standard library only, not %s", path, p)
				}
				continue
			}
			if l, ok := level(dep); (!ok || l > own) && !test {
				t.Errorf("%s: imports %s, which is above it", path, dep)
			}
			if strings.HasSuffix(dep, "test") && !test {
				t.Errorf("%s: only tests import %s", path, dep)
			}
			if strings.HasPrefix(pkg, "engine") && (strings.HasPrefix(dep, "wire") || strings.HasPrefix(dep, "configs")) && !test {
				t.Errorf("%s: the engine knows no wire form and no configuration", path)
			}
			if dep == "configs" && own < 4 && pkg != "configs" && !test {
				t.Errorf("%s: only server and cmd import configs", path)
			}
			if strings.HasPrefix(pkg, "server/") && strings.HasPrefix(dep, "server/") && !slices.Contains(shared, dep) && !test {
				t.Errorf("%s: bindings do not import each other", path)
			}
		}
	})
	if files < 50 {
		t.Fatalf("looked at %d files; the walk is broken", files)
	}
}

func TestHouse_habits(t *testing.T) {
	visit(t, func(path, pkg string, file *ast.File, set *token.FileSet) {
		test := strings.HasSuffix(path, "_test.go")
		synctest := false
		for _, p := range imports(file) {
			synctest = synctest || p == "testing/synctest"
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s: no init functions", set.Position(f.Pos()))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && sel.Sel.Name == "Sleep" && test && !synctest {
				t.Errorf("%s: tests do not sleep; use testing/synctest or a signal", set.Position(call.Pos()))
			}
			return true
		})
		if lines := set.Position(file.End()).Line; lines > 450 && !test {
			t.Errorf("%s: %d lines; divide the room", path, lines)
		}
	})
}
