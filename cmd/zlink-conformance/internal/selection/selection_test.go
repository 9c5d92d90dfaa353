package selection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var names = []string{"spi/batch/put", "spi/batch/last-false", "spi/scan/limit", "layout/key", "layout/keys/a.b"}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name      string
		run, skip []string
		want      []string
	}{
		{"all", nil, nil, names},
		{"name", []string{"spi/scan/limit"}, nil, []string{"spi/scan/limit"}},
		{"star crosses slashes", []string{"spi*"}, nil, names[:3]},
		{"star inside", []string{"*/last-*"}, nil, []string{"spi/batch/last-false"}},
		{"question mark", []string{"layout/ke?"}, nil, []string{"layout/key"}},
		{"folder", []string{"spi/batch"}, nil, names[:2]},
		{"folder with slash", []string{"spi/batch/"}, nil, names[:2]},
		{"name is no prefix", []string{"layout/key"}, nil, []string{"layout/key"}},
		{"several, order of names", []string{"spi/scan", "spi/batch/put"}, nil, []string{"spi/batch/put", "spi/scan/limit"}},
		{"skip", nil, []string{"spi", "layout/keys"}, []string{"layout/key"}},
		{"run and skip", []string{"spi"}, []string{"*put"}, []string{"spi/batch/last-false", "spi/scan/limit"}},
		{"a dot is a dot", []string{"*a.b"}, nil, []string{"layout/keys/a.b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Choose(names, c.run, c.skip)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChooseErrors(t *testing.T) {
	for _, c := range []struct {
		run, skip []string
		want      string
	}{
		{[]string{"spi/bach/put"}, nil, `--run "spi/bach/put" matches nothing; did you mean spi/batch/put?`},
		{[]string{"spi/*", "spi/scna/*"}, nil, `--run "spi/scna/*" matches nothing; did you mean spi/scan?`},
		{nil, []string{"Layout/kex"}, `--skip "Layout/kex" matches nothing; did you mean layout/key or layout/keys?`},
		{[]string{"nothing-like-it"}, nil, `--run "nothing-like-it" matches nothing; zlink-conformance list shows all`},
		{[]string{"a(b"}, nil, `--run "a(b" matches nothing; zlink-conformance list shows all`},
		{[]string{""}, nil, `--run "" matches nothing; zlink-conformance list shows all`},
		{[]string{"\xff"}, nil, `--run "\xff" is no pattern: it must be UTF-8 text`},
		{[]string{"spi/scan"}, []string{"spi"}, "--run and --skip together leave nothing to run"},
	} {
		_, err := Choose(names, c.run, c.skip)
		if err == nil || err.Error() != c.want {
			t.Errorf("run %q, skip %q: got %v, want %s", c.run, c.skip, err, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"é", "e", 1}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
