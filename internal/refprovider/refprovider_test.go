package refprovider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// The reference's surface is what its package declares.
func TestReferenceSurface(t *testing.T) {
	const dir = "../../reference"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					want = append(want, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						want = append(want, s.Name.Name)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							want = append(want, n.Name)
						}
					}
				}
			}
		}
	}
	want = slices.DeleteFunc(want, func(name string) bool { return !ast.IsExported(name) })
	slices.Sort(want)
	if diff := cmp.Diff(want, refprovider.New().Surface()); diff != "" {
		t.Errorf("the surface (-declared +listed)\n%s", diff)
	}
}

// The reference works through the target on every way to reach a Redis.
func TestReference(t *testing.T) {
	ctx := t.Context()
	env := redistest.Env(t)
	for name, options := range map[string]redisenv.ServerOptions{
		"tcp":    {},
		"tls":    {TLS: true},
		"acl":    {Username: "someone", Password: "secret pass"},
		"socket": {UnixSocket: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := env.Extra(ctx, options)
			if err != nil {
				t.Fatal(err)
			}
			config := targets.StoreConfig{Redis: server.ConnInfo(), KeyPrefix: "target-test"}
			if options.UnixSocket {
				config.Redis.Host, config.Redis.Port = "", 0
			}
			tt := targets.InProcess(refprovider.New())
			loc, err := tt.OpenLocation(ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			config.Share = loc
			rel, err := tt.OpenRelocation(ctx, config)
			if err != nil {
				t.Fatal(err)
			}
			w, err := loc.Write(ctx, spi.WriteRequest{Mutations: []spi.Mutation{spi.Put{Key: "k", Bytes: []byte{1, 2}}}})
			if _, ok := w.(spi.Applied); err != nil || !ok {
				t.Errorf("Write = %v, %v", w, err)
			}
			r, err := loc.Read(ctx, "k")
			if found, ok := r.(spi.Found); err != nil || !ok || !cmp.Equal(found.Value.Bytes, []byte{1, 2}) {
				t.Errorf("Read = %v, %v", r, err)
			}
			if err := loc.Close(); err != nil {
				t.Error(err)
			}
			if got, err := rel.Put(ctx, "r", nil, 1000); err != nil {
				t.Errorf("Put over the shared connection = %v, %v", got, err)
			}
			if err := rel.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	config := targets.StoreConfig{Redis: redisenv.ConnInfo{Host: "h", TLS: true, CAFile: "/no/such.pem"}, KeyPrefix: "p"}
	if _, err := targets.InProcess(refprovider.New()).OpenLocation(ctx, config); spi.KindOf(err) != spi.KindArgument {
		t.Errorf("a CA file that is not there: %v", err)
	}
}
