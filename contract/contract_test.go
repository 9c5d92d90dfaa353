package contract

import (
	"strings"
	"testing"
)

// numbered lists the IDs under which the contract's requirements were first
// numbered, written down apart from requirements.yaml; a case may rely on any.
const numbered = `
L2.observation L3.key-length L3.key-identity L3.key-utf8 L3.value-size L3.value-bytes L3.value-durable
L3.version-form L3.version-fresh L3.store-now L3.expiry-clock L3.expired-missing L3.result-stable
L4.missing L4.version L4.put L4.delete L4.all-or-nothing L4.isolation L4.conflict-silent L4.key-bound
L4.byte-bound L4.duplicates L4.applied L4.retention L4.condition-only L4.burst
L5.prefix L5.snapshot L5.complete L5.limit L5.page-bytes L5.cursor L5.expired L5.cas
L6.cancel-before L6.unknown-outcome L6.reconstruct L6.argument-error L6.failure-class L6.failure-scope
L6.recover L6.input-bytes L7.dispose L10.two-stores L10.surface
L9.key L9.slot L9.zset L9.member L9.raw-bytes L9.tombstone L9.expiry-field L9.unknown-tag L9.no-legacy
L9.interop-read L9.prefix L9.recordversion L9.golden
L8.key L8.decimal L8.first L8.block L8.same-batch L8.exhausted L8.contention L8.retired
R3.reference R3.size R3.no-dedupe R4.put R4.put-keeps R4.read R4.renew R4.delete R4.retention R4.stable
R5.cancel-before R5.unknown-outcome R5.argument-error R5.failure-class R5.timeout R5.reconcile
R6.orphan R6.published R7.shared R9.surface
R8.key R8.string R8.unknown R8.no-legacy R8.apart
P3.frame P3.index P3.bounds P3.store-order P3.data-lost P3.renew P3.defaults
`

// open lists the numbered requirements in which the contract's numbering marks
// a point that the documents leave open, so a reading is due.
const open = `
L3.key-utf8 L4.byte-bound L4.condition-only L4.burst L5.limit L5.expired L6.failure-scope L6.recover
L9.tombstone L9.prefix L8.exhausted R3.size R8.unknown
`

func load(t *testing.T) *Catalogue {
	t.Helper()
	catalogue, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return catalogue
}

func TestEveryNumberedRequirementIsListed(t *testing.T) {
	catalogue := load(t)
	for _, id := range strings.Fields(numbered) {
		r, ok := catalogue.Requirement(id)
		if !ok {
			t.Errorf("%s is missing", id)
			continue
		}
		if r.ID != id {
			t.Errorf("Requirement(%q) returned %s", id, r.ID)
		}
		want := Must
		if id == "L6.failure-scope" {
			want = Should
		}
		if r.Level != want {
			t.Errorf("%s: level %s, want %s", id, r.Level, want)
		}
		if !r.Testable() {
			t.Errorf("%s: a test can reach it, but it is marked untestable", id)
		}
	}
	for _, id := range strings.Fields(open) {
		if r, _ := catalogue.Requirement(id); r.Reading == "" {
			t.Errorf("%s: the documents leave it open, but it has no reading", id)
		}
	}
	if r, ok := catalogue.Requirement("L5.expird"); ok {
		t.Errorf("a misspelt ID found %s", r.ID)
	}
}

// A sentence is printed as one line above a failing check.
func TestSentences(t *testing.T) {
	for _, r := range load(t).All() {
		for _, text := range []string{r.Sentence, r.Reading, r.Untestable} {
			if strings.ContainsAny(text, "\n\t") || strings.Contains(text, "  ") {
				t.Errorf("%s: not one line of plain text: %q", r.ID, text)
			}
		}
		if !strings.HasSuffix(r.Sentence, ".") || strings.Contains(r.Sentence, ". ") {
			t.Errorf("%s: not one sentence: %q", r.ID, r.Sentence)
		}
	}
}

func TestGroup(t *testing.T) {
	for id, want := range map[string]Group{
		"L2.observation": Location, "L7.dispose": Location, "L10.surface": Location,
		"L9.key": RedisLocation, "L9.golden": Golden, "R9.golden": Golden,
		"L8.exhausted": Counter,
		"R3.size":      Relocation, "R9.surface": Relocation,
		"R8.string": RedisRelocation,
		"P3.index":  Payload,
	} {
		if got := (Requirement{ID: id}).Group(); got != want {
			t.Errorf("%s: group %q, want %q", id, got, want)
		}
	}
}

// A caller that changes what All returned must not change the catalogue.
func TestAllIsACopy(t *testing.T) {
	catalogue := load(t)
	first := catalogue.All()[0].ID
	catalogue.All()[0].ID = "changed"
	if got := catalogue.All()[0].ID; got != first {
		t.Errorf("first entry is now %q, want %q", got, first)
	}
}

func TestParseKeepsOrderAndFields(t *testing.T) {
	catalogue, err := parse([]byte(`requirements:
  - {id: R4.put, level: MUST, source: relocation-store §4.1; cpp-interface §3, sentence: Put stores., reading: As Stored.}
  - {id: L4.put, level: SHOULD, source: java-interface "Atomic Write", sentence: Put puts., untestable: Nobody looks.}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Requirement{
		{"R4.put", Must, "relocation-store §4.1; cpp-interface §3", "Put stores.", "As Stored.", ""},
		{"L4.put", Should, `java-interface "Atomic Write"`, "Put puts.", "", "Nobody looks."},
	}
	got := catalogue.All()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	const good = "  - {id: L4.put, level: MUST, source: location-store §4, sentence: Put puts.}\n"
	for _, test := range []struct {
		name, entries, want string
	}{
		{"unknown field", "  - {id: L4.put, level: MUST, source: location-store §4, sentence: Put puts., case: x}\n",
			"field case not found"},
		{"field twice", "  - {id: L4.put, id: L4.delete, level: MUST, source: location-store §4, sentence: Put puts.}\n",
			"already defined"},
		{"duplicate ID", good + good, "entry 2 (L4.put): the ID is already taken by entry 1"},
		{"no id", "  - {level: MUST, source: location-store §4, sentence: Put puts.}\n", `entry 1 (): the field "id" is missing`},
		{"no level", "  - {id: L4.put, source: location-store §4, sentence: Put puts.}\n", `the field "level" is missing`},
		{"no source", "  - {id: L4.put, level: MUST, sentence: Put puts.}\n", `the field "source" is missing`},
		{"no sentence", "  - {id: L4.put, level: MUST, source: location-store §4}\n", `the field "sentence" is missing`},
		{"bad level", "  - {id: L4.put, level: must, source: location-store §4, sentence: Put puts.}\n",
			`the level is "must"; it must be MUST or SHOULD`},
		{"ID without section", "  - {id: put, level: MUST, source: location-store §4, sentence: Put puts.}\n",
			"entry 1 (put): the ID has not the form"},
		{"ID with capitals", "  - {id: L4.Put, level: MUST, source: location-store §4, sentence: Put puts.}\n",
			"the ID has not the form"},
		{"section without group", "  - {id: L44.put, level: MUST, source: location-store §4, sentence: Put puts.}\n",
			"belongs to no group"},
		{"unknown document", "  - {id: L4.put, level: MUST, source: location §4, sentence: Put puts.}\n",
			`the source "location §4"`},
		{"source without section", "  - {id: L4.put, level: MUST, source: location-store, sentence: Put puts.}\n",
			`the source "location-store"`},
		{"second source bad", "  - {id: L4.put, level: MUST, source: location-store §4; cpp, sentence: Put puts.}\n",
			`the source "cpp"`},
		{"no entries", "  []\n", "holds no requirements"},
		{"second document", good + "---\nrequirements: []\n", "more than one document"},
		{"broken YAML", "  - {id: L4.put\n", "requirements.yaml: yaml: line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse([]byte("requirements:\n" + test.entries))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "requirements.yaml: ") {
				t.Errorf("error %q, want one of requirements.yaml with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q is not one line", err)
			}
		})
	}
}
