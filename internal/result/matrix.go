package result

import (
	"slices"
	"time"
)

// Fate is what became of a mutant.
type Fate string

const (
	Killed        Fate = "killed"           // by a finding that cites a requirement that it breaks
	Survived      Fate = "survived"         // no case found it
	Miscited      Fate = "miscited"         // cases of its requirements found it, but cited others: as if it survived
	KilledByOther Fate = "killed by others" // only by cases that name none of its requirements
	Broken        Fate = "error"            // only trouble came of it: an error is no finding
	NotTried      Fate = "not tried"        // nothing killed it, but a case that might have was skipped
)

// Matrix is which cases found which mutants: the proof of what the cases catch.
type Matrix struct {
	Tool        string        `json:"tool"` // version of zlink-conformance
	Environment Environment   `json:"environment"`
	Seed        int64         `json:"seed"`
	Started     time.Time     `json:"started"`
	Duration    time.Duration `json:"durationNanos"`
	Interrupted string        `json:"interrupted,omitempty"` // why it ended early, empty if it did not
	Mutants     []MutantRow   `json:"mutants"`
	Variants    []VariantRow  `json:"variants"`
	// Cases is the number of cases that were tried on mutants.
	Cases int `json:"cases"`
	// Idle are the cases that found no mutant, and OffTopic those of which no
	// finding ever cited the case's main requirement; nil unless all mutants were
	// run.
	Idle     []string `json:"idle,omitempty"`
	OffTopic []string `json:"offTopic,omitempty"`
	// Defects are cases that broke on a mutant: they panicked, or cited what they
	// do not declare.
	Defects []Kill `json:"defects,omitempty"`
}

// MutantRow is the outcome of one mutant.
type MutantRow struct {
	ID           string        `json:"id"`
	Requirements []string      `json:"requirements"` // that it breaks, the main one first
	Title        string        `json:"title"`
	Fate         Fate          `json:"fate"`
	Reason       string        `json:"reason,omitempty"` // of a fate that is not killed, or why a kill is to be doubted
	Tried        int           `json:"tried"`            // cases that ran on it
	KilledBy     []Kill        `json:"killedBy"`         // those that cite its requirements first, each in the order of the cases
	Errors       []Kill        `json:"errors,omitempty"` // cases that ended in trouble on it
	Duration     time.Duration `json:"durationNanos"`
}

// VariantRow is what the cases said of a lawful variant, a provider that is
// right in another way than the reference.
type VariantRow struct {
	ID       string        `json:"id"`
	Allowed  string        `json:"allowed"` // the requirement that leaves this open
	Title    string        `json:"title"`
	Tried    int           `json:"tried"`            // cases that ran on it
	Alarms   []Kill        `json:"alarms,omitempty"` // cases that failed or ended in trouble, each a false alarm
	Duration time.Duration `json:"durationNanos"`
}

// Kill is a case and what it said of a mutant.
type Kill struct {
	Case  string   `json:"case"`
	What  string   `json:"what"`            // of its findings, the one that says most about the mutant
	Cites []string `json:"cites,omitempty"` // the requirements of all its findings
}

// Proves reports whether the kill cites a requirement that the mutant breaks.
func (r MutantRow) Proves(k Kill) bool {
	return slices.ContainsFunc(k.Cites, func(id string) bool { return slices.Contains(r.Requirements, id) })
}

// Expected reports whether the mutant ended as it must.
func (r MutantRow) Expected() bool { return r.Fate == Killed }

// Fates counts the mutants of each fate.
func (m Matrix) Fates() map[Fate]int {
	n := map[Fate]int{}
	for _, r := range m.Mutants {
		n[r.Fate]++
	}
	return n
}

// FalseAlarms counts the lawful variants that some case did not pass.
func (m Matrix) FalseAlarms() int {
	n := 0
	for _, v := range m.Variants {
		if len(v.Alarms) > 0 {
			n++
		}
	}
	return n
}

// ExitStatus is that of selftest: ExitNonconform if a mutant did not end as it
// must, a case is of no use or blames a lawful variant, ExitEnvironment if the matrix is not complete:
// it ended early, or not all that it takes was there.
func (m Matrix) ExitStatus() int {
	n := m.Fates()
	switch {
	case m.FalseAlarms() > 0:
		return ExitNonconform
	case n[Survived]+n[Miscited]+n[KilledByOther]+n[Broken]+len(m.Defects) > 0,
		m.Interrupted == "" && len(m.Idle)+len(m.OffTopic) > 0:
		return ExitNonconform
	case m.Interrupted != "" || n[NotTried] > 0 || n[Killed]+len(m.Variants) == 0:
		return ExitEnvironment
	}
	return ExitConforms
}
