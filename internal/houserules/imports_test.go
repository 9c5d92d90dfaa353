// Package houserules holds the tree to the rules that its documents state.
package houserules

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "github.com/zlink-systems/zlink-conformance/"
)

// room is a row of the table of docs/architecture.md.
type room struct {
	path      string
	mayImport []string
	used      map[string]bool // permissions, by what they permit
	packages  int
}

func rooms(t *testing.T) []*room {
	text, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| package | what it holds | may import |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	quoted := regexp.MustCompile("`([^`]+)`")
	var out []*room
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			t.Fatalf("a row of %d cells: %s", len(cells), row)
		}
		r := &room{path: quoted.FindStringSubmatch(cells[1])[1], used: map[string]bool{}}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			r.mayImport = append(r.mayImport, m[1])
		}
		if (strings.TrimSpace(cells[3]) == "nothing of ours") != (len(r.mayImport) == 0) {
			t.Errorf("%s: %q is no list of packages", r.path, cells[3])
		}
		out = append(out, r)
	}
	return out
}

// roomOf returns the row that the package belongs to, or nil.
func roomOf(rooms []*room, path string) *room {
	var best *room
	for _, r := range rooms {
		if (path == r.path || strings.HasPrefix(path, r.path+"/")) && (best == nil || len(r.path) > len(best.path)) {
			best = r
		}
	}
	return best
}

func TestWhoMayImportWhom(t *testing.T) {
	rooms := rooms(t)
	for from, imports := range importsOfOurs(t) {
		r := roomOf(rooms, from)
		if r == nil {
			t.Errorf("%s has no row in docs/architecture.md", from)
			continue
		}
		r.packages++
		for _, i := range imports {
			switch to := roomOf(rooms, i); {
			case to == r || to == nil: // the missing row is told of above
			case slices.Contains(r.mayImport, to.path):
				r.used[to.path] = true
			default:
				t.Errorf("%s imports %s: docs/architecture.md does not permit %s to import %s", from, i, r.path, to.path)
			}
		}
	}
	for _, r := range rooms {
		if r.packages == 0 {
			t.Errorf("docs/architecture.md has a row for %s, which is no package", r.path)
		}
		for _, p := range r.mayImport {
			if !r.used[p] {
				t.Errorf("docs/architecture.md permits %s to import %s, which it does not: the permission can go", r.path, p)
			}
		}
	}
}

// importsOfOurs returns the packages of this module and what each imports of
// it, tests aside.
func importsOfOurs(t *testing.T) map[string][]string {
	out := map[string][]string{}
	for _, file := range files(t, ".go") {
		dir := path.Dir(file)
		if _, ok := out[dir]; !ok {
			out[dir] = nil
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), root+"/"+file, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			if ours, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module); ok && !slices.Contains(out[dir], ours) {
				out[dir] = append(out[dir], ours)
			}
		}
	}
	return out
}

// files returns the paths of the files with one of the endings, those aside
// that are made: hidden folders, build outputs and dependencies.
func files(t *testing.T, endings ...string) []string {
	var out []string
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (name[0] == '.' ||
			slices.Contains([]string{"bin", "out", "build", "dist", "target", "node_modules"}, name)):
			return fs.SkipDir
		case !d.IsDir() && slices.Contains(endings, path.Ext(name)):
			out = append(out, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatalf("no file ends in one of %q", endings)
	}
	return out
}
