// Package selection chooses names, such as case IDs, by patterns.
//
// A pattern is matched against the whole name: * stands for any run of
// characters, also for slashes, ? for one character, everything else for
// itself. A pattern that names a folder stands for all in it: spi/batch is
// spi/batch or spi/batch/*.
package selection

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// listCases shows all names of cases.
const listCases = "zlink-conformance list"

// Choose returns the names that match a pattern of run (all names when there
// is none) and no pattern of skip, in their order. A pattern that matches no
// name, and a choice of nothing, is an error that says what to do.
func Choose(names, run, skip []string) ([]string, error) {
	runs, err := compile("--run", listCases, names, run)
	if err != nil {
		return nil, err
	}
	skips, err := compile("--skip", listCases, names, skip)
	if err != nil {
		return nil, err
	}
	var chosen []string
	for _, name := range names {
		if (len(runs) == 0 || matches(runs, name)) && !matches(skips, name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--run and --skip together leave nothing to run")
	}
	return chosen, nil
}

// Pick returns the names that match a pattern that the flag gave, in their
// order; errors are as for Choose and name the command that lists the names.
func Pick(flag, list string, names, patterns []string) ([]string, error) {
	compiled, err := compile(flag, list, names, patterns)
	if err != nil {
		return nil, err
	}
	var picked []string
	for _, name := range names {
		if matches(compiled, name) {
			picked = append(picked, name)
		}
	}
	return picked, nil
}

func matches(patterns []*regexp.Regexp, name string) bool {
	return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(name) })
}

func compile(flag, list string, names, patterns []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, p := range patterns {
		quoted := regexp.QuoteMeta(strings.TrimSuffix(p, "/"))
		quoted = strings.ReplaceAll(strings.ReplaceAll(quoted, `\*`, ".*"), `\?`, ".")
		re, err := regexp.Compile("(?s)^" + quoted + "(/.*)?$")
		if err != nil {
			return nil, fmt.Errorf("%s %q is no pattern: it must be UTF-8 text", flag, p)
		}
		if !slices.ContainsFunc(names, re.MatchString) {
			return nil, fmt.Errorf("%s %q matches nothing; %s", flag, p, Suggest(names, p, list))
		}
		out = append(out, re)
	}
	return out, nil
}

// Suggest is the end of an error message on an unknown name: the nearest
// names, or the command that lists them all.
func Suggest(names []string, wrong, list string) string {
	if near := nearest(names, wrong); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return list + " shows all"
}

// nearest returns up to three of the names and their folders that differ from
// the wrong name in at most a third of its characters.
func nearest(names []string, wrong string) []string {
	const most = 3
	wrong = strings.Trim(wrong, "*/")
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, name := range withFolders(names) {
		if d := distance(strings.ToLower(wrong), strings.ToLower(name)); name != wrong && d <= max(2, len(wrong)/3) {
			found = append(found, candidate{name, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var out []string
	for _, c := range found[:min(most, len(found))] {
		out = append(out, c.name)
	}
	return out
}

func withFolders(names []string) []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, name := range names {
		for i, r := range name {
			if r == '/' {
				add(name[:i])
			}
		}
		add(name)
	}
	return out
}

// distance is the number of characters to insert, delete or replace to make
// one text of the other (Levenshtein).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, s := range to {
			replace := diagonal
			if r != s {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
