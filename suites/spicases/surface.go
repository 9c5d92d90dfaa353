package spicases

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

func surfaceCases() []harness.Case {
	needs := []harness.Need{harness.Need(targets.CapSurface)}
	return []harness.Case{
		{ID: "spi/surface/location", Title: "No public declaration is named after what the framework or the " +
			"provider keeps to itself.",
			Requirements: []string{"L10.surface"}, Needs: append(needs, harness.NeedLocation),
			Run: func(t *harness.T) { surface(t, "L10.surface", privateTerms) }},
		{ID: "spi/surface/relocation", Title: "No public declaration is about relocation phases, manifests, scripts, key " +
			"layout or the history of moves.",
			Requirements: []string{"R9.surface"}, Needs: append(needs, harness.NeedRelocation),
			Run: func(t *harness.T) { surface(t, "R9.surface", privateRelocationTerms) }},
	}
}

// A term is a pattern of the words of a name, which stand in lower case with a
// space around each of them. A word that another one is joined to without a
// change of case (LUASCRIPT, fencetoken) is found by its beginning or its end.
type term struct {
	name    string
	pattern *regexp.Regexp
}

func newTerm(name, pattern string) term { return term{name, regexp.MustCompile(pattern)} }

// What no public declaration is named after, in any spelling.
var (
	scriptTerm   = newTerm("script", ` script| \S*scripts? | lua `)
	layoutTerm   = newTerm("key layout", ` \S*(key|redis|record|blob|storage|hash)s? ?layout|layouts? (of )?(key|record|blob)s? `)
	phaseTerm    = newTerm("relocation phase", `relocation.*phase|phase.*relocation`)
	manifestTerm = newTerm("manifest", ` manifest| \S*manifests? `)

	privateTerms = []term{
		newTerm("authority", ` authorit(y|ies|ative)| \S*authorit(y|ies) `),
		newTerm("reservation", ` reserv(ation|ed|e |er)| \S*reservations? `),
		newTerm("aggregate", ` aggregat| \S*aggregat(e|es|or|ion)s? `),
		newTerm("capacity", ` capacit| \S*capacit(y|ies) `),
		newTerm("fence", ` fenc(e|ing)| \S*fenc(e|es|ed|ing) `),
		newTerm("codec", ` codecs? | \S+codecs? `),
		phaseTerm, manifestTerm, scriptTerm, layoutTerm,
	}
	privateRelocationTerms = []term{
		phaseTerm, manifestTerm, scriptTerm, layoutTerm,
		newTerm("move history", `(move|movement|relocation|migration|actor|spot)\S* (\S+ )*?\S*histor(y|ies)|`+
			`histor(y|ies)\S* (\S+ )*?(move|movement|relocation|migration|actor|spot)|movehistory`),
	}
)

// ordinary are words and pairs of words in which the letters of a term mean
// something else: settings of a connection, names of the language.
var ordinary = regexp.MustCompile(` (` +
	`\S*(description|descript|subscri|transcript|manuscript|prescript|inscript|conscript|postscript)\S*|` +
	`(java|type|ecma) ?scripts?|manifestations?|\S*(preservation|defence|offence)s?|` +
	`(ca|tls|ssl|root|trusted|certificate|certificates|uri|url) authorit(y|ies)|certificateauthority|` +
	`(pool|queue|buffer|connection|initial|channel)s? (\S+ )?capacit(y|ies)|capacit(y|ies) of ` +
	`(pool|queue|buffer)s?|struct layout) `)

func surface(t *harness.T, requirement string, terms []term) {
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
func privateTerm(name string, terms []term) string {
	spaced := " " + strings.Join(words(name), " ") + " "
	for ordinary.MatchString(spaced) { // two in a row share a space
		spaced = ordinary.ReplaceAllString(spaced, " ")
	}
	for _, term := range terms {
		if term.pattern.MatchString(spaced) {
			return term.name
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
