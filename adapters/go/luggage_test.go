package adapter_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What an author's adapter is built of, the standard library aside: the kit
// alone, and the kit with go-redis.
func TestLuggage(t *testing.T) {
	const ours = "github.com/zlink-systems/zlink-conformance/"
	kit := []string{ours + "adapters/go", ours + "internal/targets", ours + "internal/targets/protocol", ours + "spi"}
	client := []string{"github.com/redis/go-redis/v9", "github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys"}
	for name, row := range map[string]struct {
		root    string
		modules []string // whose packages it may need besides the kit's own
	}{
		"the kit":     {".", nil},
		"with Redis":  {"./goredis", append(client, ours+"adapters/go/goredis")},
		"the example": {"./example", append(client, ours+"adapters/go/goredis", ours+"adapters/go/example", ours+"reference")},
	} {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", row.root).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		packages := strings.Fields(string(out))
		if missing := slices.DeleteFunc(slices.Clone(kit),
			func(p string) bool { return slices.Contains(packages, p) }); len(missing) > 0 {
			t.Errorf("%s: the list is not that of the kit, it lacks %q", name, missing)
		}
		extra := slices.DeleteFunc(packages, func(p string) bool {
			return slices.Contains(kit, p) ||
				slices.ContainsFunc(row.modules, func(m string) bool { return p == m || strings.HasPrefix(p, m+"/") })
		})
		if diff := cmp.Diff([]string{}, extra); diff != "" {
			t.Errorf("%s: more than an adapter needs (-allowed +imported)\n%s", name, diff)
		}
	}
}
