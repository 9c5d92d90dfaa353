package mutants

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference"
)

// edit replaces old, which must stand exactly once in a script of the
// reference. Without a script it edits every script that holds old; without
// old it puts new in front.
type edit struct{ script, old, new string }

// script is a mutant made by edits of the reference's scripts. It breaks the
// requirements, which have a space between them.
func script(id, breaks, title string, edits ...edit) Mutant {
	return Mutant{ID: id, Requirements: requirements(breaks), Title: title, edits: edits}
}

func onRead(old, new string) edit  { return edit{"location_read", old, new} }
func onWrite(old, new string) edit { return edit{"location_write", old, new} }
func onScan(old, new string) edit  { return edit{"location_scan", old, new} }
func onPut(old, new string) edit   { return edit{"relocation_put", old, new} }
func onGet(old, new string) edit   { return edit{"relocation_read", old, new} }
func onRenew(old, new string) edit { return edit{"relocation_renew", old, new} }

// onKeys edits the Redis keys that the scripts are given: pattern and
// replacement as Lua's string.gsub knows them.
func onKeys(pattern, replacement string) edit {
	return edit{new: `
for _, list in ipairs({KEYS, ARGV}) do
  for i, name in ipairs(list) do
    list[i] = string.gsub(name, '` + pattern + `', ` + replacement + `)
  end
end
`}
}

func rewriteBy(edits []edit) func(script, source string) string {
	return func(script, source string) string {
		for _, e := range edits {
			if e.script == "" || e.script == script {
				source = strings.Replace(source, e.old, e.new, 1)
			}
		}
		return source
	}
}

// check says which edits of the mutant do not apply to the reference's scripts.
func (m Mutant) check() error {
	sources := map[string]string{}
	collect := func(script, source string) string {
		sources[script] = source
		return source
	}
	o := reference.Options{Redis: &redis.Options{}, KeyPrefix: "p", Rewrite: collect}
	location, err := reference.OpenLocation(o)
	if err != nil {
		return err
	}
	defer location.Close()
	relocation, err := reference.OpenRelocation(o)
	if err != nil {
		return err
	}
	defer relocation.Close()
	for _, e := range m.edits {
		applied := 0
		for script, source := range sources {
			if e.script != "" && e.script != script {
				continue
			}
			n := 1
			if e.old != "" {
				n = strings.Count(source, e.old)
			}
			if n > 1 || n == 0 && e.script != "" {
				return fmt.Errorf("mutant %s: the script %s holds %q %d times, want once", m.ID, script, e.old, n)
			}
			applied += n
			sources[script] = strings.Replace(source, e.old, e.new, 1)
		}
		if applied == 0 {
			return fmt.Errorf("mutant %s: no script holds %q", m.ID, e.old)
		}
	}
	return nil
}

// edited is the reference with edited scripts.
func edited(edits []edit) targets.Provider {
	return refprovider.With(func(o reference.Options) reference.Options {
		o.Rewrite = rewriteBy(edits)
		return o
	})
}
