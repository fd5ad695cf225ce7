package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// tree is everything the checks look at.
type tree struct {
	modules []module
	files   []file
}

// module is one go.mod.
type module struct {
	path     string
	dir      string // relative to the root, slash-separated
	file     string // its go.mod, relative to the root
	requires []imported
}

// file is one Go source file.
type file struct {
	name      string // relative to the root
	module    string // module path
	pkg       string // import path of its folder
	pkgName   string // as in its package clause
	test      bool
	generated bool
	lines     int
	comment   bool // it carries the package comment
	imports   []imported
	uses      []imported // qualified names of the standard library, such as time.Now
}

// imported is a path (or a qualified name) and the line that mentions it.
type imported struct {
	path string
	line int
}

// load reads every module and every Go file under root. Folders that the go
// command ignores (testdata, vendor, a leading dot or underscore) are ignored, and
// so is bin, where make puts what is built and installed.
func load(root string) (*tree, error) {
	t := &tree{}
	var sources []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if p == filepath.Join(root, "bin") {
				return filepath.SkipDir
			}
			if p != root && (base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		switch {
		case base == "go.mod":
			m, err := loadModule(root, filepath.ToSlash(rel))
			if err != nil {
				return err
			}
			t.modules = append(t.modules, m)
		case strings.HasSuffix(base, ".go"):
			sources = append(sources, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range sources {
		m, ok := t.moduleOf(name)
		if !ok {
			return nil, fmt.Errorf("%s is in no module", name)
		}
		f, err := loadFile(root, name, m)
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, f)
	}
	return t, nil
}

// moduleOf finds the innermost module that holds the file.
func (t *tree) moduleOf(name string) (module, bool) {
	var best module
	found := false
	for _, m := range t.modules {
		if m.dir != "." && !strings.HasPrefix(name, m.dir+"/") {
			continue
		}
		if !found || len(m.dir) > len(best.dir) || best.dir == "." {
			best, found = m, true
		}
	}
	return best, found
}

func loadModule(root, name string) (module, error) {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return module{}, err
	}
	parsed, err := modfile.Parse(name, data, nil)
	if err != nil {
		return module{}, err
	}
	if parsed.Module == nil {
		return module{}, fmt.Errorf("%s has no module line", name)
	}
	m := module{path: parsed.Module.Mod.Path, dir: path.Dir(name), file: name}
	for _, r := range parsed.Require {
		m.requires = append(m.requires, imported{r.Mod.Path, r.Syntax.Start.Line})
	}
	return m, nil
}

func loadFile(root, name string, m module) (file, error) {
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return file{}, err
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	f := file{
		name:      name,
		module:    m.path,
		pkg:       packagePath(m, path.Dir(name)),
		pkgName:   parsed.Name.Name,
		test:      strings.HasSuffix(name, "_test.go"),
		generated: ast.IsGenerated(parsed),
		lines:     bytes.Count(data, []byte("\n")),
		comment:   strings.TrimSpace(parsed.Doc.Text()) != "",
	}
	local := map[string]string{} // name in this file -> import path
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, fmt.Errorf("%s: %w", name, err)
		}
		f.imports = append(f.imports, imported{p, fset.Position(spec.Pos()).Line})
		as := path.Base(p)
		if spec.Name != nil {
			as = spec.Name.Name
		}
		local[as] = p
	}
	f.uses = qualifiedNames(fset, parsed, local)
	return f, nil
}

// qualifiedNames lists `pkg.Name` for the standard library's packages. A local
// variable that shadows an import is taken for the import: the finding then
// names the line, and the cure is another name for the variable.
func qualifiedNames(fset *token.FileSet, f *ast.File, local map[string]string) []imported {
	var names []imported
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok {
			if p := local[id.Name]; p != "" && isStd(p) {
				names = append(names, imported{p + "." + sel.Sel.Name, fset.Position(sel.Pos()).Line})
			}
		}
		return true
	})
	return names
}

// packagePath is the import path of the folder dir inside m.
func packagePath(m module, dir string) string {
	if dir == m.dir {
		return m.path
	}
	if m.dir == "." {
		return path.Join(m.path, dir)
	}
	return path.Join(m.path, strings.TrimPrefix(dir, m.dir+"/"))
}
