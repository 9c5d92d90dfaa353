package spicases

import (
	"slices"
	"strings"
	"unicode"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

func surfaceCases() []harness.Case {
	needs := []harness.Need{harness.Need(targets.CapSurface)}
	return []harness.Case{
		{ID: "spi/surface/location", Title: "No public declaration is named after what the framework or the provider keeps to itself.",
			Requirements: []string{"L10.surface"}, Needs: append(needs, harness.NeedLocation),
			Run: func(t *harness.T) { surface(t, "L10.surface", privateTerms) }},
		{ID: "spi/surface/relocation", Title: "No public declaration is about relocation phases, manifests, scripts, key layout or the history of moves.",
			Requirements: []string{"R9.surface"}, Needs: append(needs, harness.NeedRelocation),
			Run: func(t *harness.T) { surface(t, "R9.surface", privateRelocationTerms) }},
	}
}

// Terms that no public declaration is named after, as words in a row. A word
// in a name counts whole, so a Description is no script.
var (
	privateTerms = []string{
		"authority", "authorities", "reservation", "reservations", "aggregate", "aggregates", "capacity", "capacities",
		"fence", "fences", "fencing", "relocation phase", "relocation phases", "manifest", "manifests",
		"script", "scripts", "lua", "key layout", "key layouts", "redis layout", "codec", "codecs",
	}
	privateRelocationTerms = []string{
		"relocation phase", "relocation phases", "manifest", "manifests", "script", "scripts", "lua", "key layout", "key layouts",
		"move history", "relocation history", "movement history", "actor history", "spot history",
	}
)

// harmlessBeside are words beside which "capacity" is a setting of the
// connection, which the options may have.
var harmlessBeside = []string{"pool", "queue", "buffer", "connection", "initial"}

func surface(t *harness.T, requirement string, terms []string) {
	names := t.Target().Surface()
	if len(names) == 0 {
		t.Troublef("the target announces the capability surface, but lists no public declaration")
	}
	for _, name := range names {
		if term := privateTerm(name, terms); term != "" {
			t.Failf(requirement, "the public declaration %q is named after %q", name, term)
		}
	}
}

// privateTerm returns the first of the terms that the name holds, or "".
func privateTerm(name string, terms []string) string {
	split := words(name)
	spaced := " " + strings.Join(split, " ") + " "
	for _, term := range terms {
		if !strings.Contains(spaced, " "+term+" ") {
			continue
		}
		harmless := slices.ContainsFunc(harmlessBeside, func(w string) bool { return slices.Contains(split, w) })
		if !harmless || !strings.HasPrefix(term, "capacit") {
			return term
		}
	}
	return ""
}

// words splits a name at case changes and at all that is no letter:
// RedisKeyLayout, redis_key_layout and redis.KeyLayout are "redis key layout".
func words(name string) (all []string) {
	runes := []rune(name)
	start := -1
	flush := func(end int) {
		if start >= 0 {
			all = append(all, strings.ToLower(string(runes[start:end])))
		}
		start = -1
	}
	for i, c := range runes {
		switch {
		case !unicode.IsLetter(c):
			flush(i)
		case start < 0:
			start = i
		case unicode.IsUpper(c) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return all
}
