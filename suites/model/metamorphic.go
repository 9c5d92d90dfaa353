package model

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// twice is the table of the cases that play a random script and the same
// script changed so that no outcome may change. They need no model: whatever
// the target answers, it must answer again.
var twice = []struct {
	slug, title, requirements string
	change                    func(*rand.Rand, Script) variant
}{
	{"renamed-keys", "Other names for the keys, with special characters in them, change no outcome",
		"L3.key-identity L4.missing L4.version L5.complete", renamed},
	{"split-batches", "A batch split into its conditions and, if they hold, its mutations one by one changes no outcome",
		"L4.all-or-nothing L4.missing L4.version L4.condition-only", split},
	{"reordered", "Operations on different keys, in another order, have the same outcomes",
		"L4.missing L4.version L2.observation", reordered},
}

// variant is a changed script: where each line comes from, how a key of the
// script is called in it, and whether batches are split.
type variant struct {
	script Script
	origin []int // index of the line in the original
	rename map[spi.Key]spi.Key
	split  bool
}

const metamorphicOperations = 60

var metamorphicMix = mix{write: 10, read: 5, scan: 1, keys: fewKeys, retentions: lasting}

func metamorphicCases() []harness.Case {
	var cases []harness.Case
	for _, m := range twice {
		requirements := strings.Fields(m.requirements)
		cases = append(cases, harness.Case{
			ID: "model/metamorphic/" + m.slug, Title: m.title + ".", Requirements: requirements, Needs: locationNeeds,
			Run: func(t *harness.T) {
				r := rand.New(rand.NewPCG(t.Seed(), 0))
				script := plain(metamorphicMix.random(r, metamorphicOperations))
				v := m.change(r, script)
				before := outcomes(t, "original", variant{script: script})
				after := outcomes(t, "changed", v)
				for i, line := range v.script {
					if want, got := before[v.origin[i]], after[i]; want != got {
						t.Notef("the script until then:\n%s", v.script[:i+1])
						t.Fatalf(requirements[0], "%s, which is %s of the original, had the outcome %s there and %s here", line,
							script[v.origin[i]], want, got)
					}
				}
			},
		})
	}
	return cases
}

// plain leaves out what may differ without being wrong: versions of one
// key as conditions on another.
func plain(s Script) Script {
	for _, l := range s {
		if w, ok := l.step.(writeStep); ok {
			for i, c := range w.conditions {
				if !c.missing {
					w.conditions[i].from = c.key
				}
			}
		}
	}
	return s
}

// renamed gives every key a name that is hard to tell from the others'.
func renamed(r *rand.Rand, s Script) variant {
	names := []spi.Key{"*", "?", "[a]", "a:b", "{a}", "\\", " ", "A", "\x00\x00", "e\u0301", "zlink:v11:", "\U0010ffff", "\n"}
	rename := map[spi.Key]spi.Key{}
	for i, at := range r.Perm(len(names))[:len(fewKeys)] {
		rename[fewKeys[i]] = names[at]
	}
	v := variant{rename: rename}
	for i, l := range s {
		switch st := l.step.(type) {
		case writeStep:
			w := writeStep{slices.Clone(st.conditions), slices.Clone(st.mutations)}
			for i := range w.conditions {
				w.conditions[i].key, w.conditions[i].from = rename[w.conditions[i].key], rename[w.conditions[i].from]
			}
			for i := range w.mutations {
				w.mutations[i].key = rename[w.mutations[i].key]
			}
			l.step = w
		case readStep:
			l.step = readStep{rename[st.key]}
		}
		v.script, v.origin = append(v.script, l), append(v.origin, i)
	}
	return v
}

func split(_ *rand.Rand, s Script) variant {
	v := variant{script: s, split: true}
	for i := range s {
		v.origin = append(v.origin, i)
	}
	return v
}

// reordered swaps neighbours that have no key in common, many times.
func reordered(r *rand.Rand, s Script) variant {
	v := variant{script: slices.Clone(s)}
	for i := range s {
		v.origin = append(v.origin, i)
	}
	for range 20 * len(s) {
		i := r.IntN(len(s) - 1)
		if independent(v.script[i], v.script[i+1]) {
			v.script[i], v.script[i+1] = v.script[i+1], v.script[i]
			v.origin[i], v.origin[i+1] = v.origin[i+1], v.origin[i]
		}
	}
	return v
}

func independent(a, b line) bool {
	for _, k := range touched(a) {
		if slices.Contains(touched(b), k) {
			return false
		}
	}
	return true
}

// touched are the keys that a line looks at or changes; a scan touches all.
func touched(l line) []spi.Key {
	switch s := l.step.(type) {
	case readStep:
		return []spi.Key{s.key}
	case writeStep:
		var keys []spi.Key
		for _, c := range s.conditions {
			keys = append(keys, c.key)
		}
		for _, m := range s.mutations {
			keys = append(keys, m.key)
		}
		return keys
	}
	return fewKeys
}

// outcomes plays the script on a prefix of its own and describes each answer
// in the words of the original: without versions and times.
func outcomes(t *harness.T, prefix string, v variant) []string {
	l := t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix(prefix)})
	original := map[spi.Key]spi.Key{}
	for from, to := range v.rename {
		original[to] = from
	}
	w := newWorld(0) // only for the versions that conditions mean
	out := make([]string, len(v.script))
	for i, line := range v.script {
		switch s := line.step.(type) {
		case writeStep:
			out[i] = write(l, w, w.request(s), v.split)
		case readStep:
			out[i] = "missing"
			if f, ok := l.MustRead(s.key).(spi.Found); ok {
				out[i] = shownData(f.Value)
			}
		case scanStep:
			var items []string
			for _, item := range l.MustScan("", s.limit) {
				key := item.Key
				if v.rename != nil {
					key = original[key]
				}
				items = append(items, name(key)+" "+shownData(item.Value))
			}
			slices.Sort(items)
			out[i] = fmt.Sprintf("%q", items)
		}
	}
	return out
}

// write performs a batch and notes the versions that it issues.
func write(l *harness.Location, w *world, r spi.WriteRequest, split bool) string {
	parts := []spi.WriteRequest{r}
	if split {
		parts = nil
		if len(r.Conditions) > 0 {
			parts = append(parts, spi.WriteRequest{Conditions: r.Conditions})
		}
		for _, m := range r.Mutations {
			parts = append(parts, spi.WriteRequest{Mutations: []spi.Mutation{m}})
		}
	}
	for _, part := range parts {
		a, ok := l.MustWrite(part).(spi.Applied)
		if !ok {
			return "conflict"
		}
		for _, p := range a.PutVersions {
			w.issued[p.Key] = append(w.issued[p.Key], p.Version)
		}
	}
	return "applied"
}

func shownData(v spi.Value) string {
	lasting := ""
	if v.ExpiresAt != spi.NoExpiry {
		lasting = " that expires"
	}
	if len(v.Bytes) > 40 {
		return fmt.Sprintf("%d bytes of SHA-256 %x%s", len(v.Bytes), sha256.Sum256(v.Bytes), lasting)
	}
	return fmt.Sprintf("%q%s", v.Bytes, lasting)
}
