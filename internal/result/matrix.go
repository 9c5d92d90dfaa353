package result

import "time"

// Fate is what became of a mutant.
type Fate string

const (
	Killed        Fate = "killed"           // by a case of the requirement that it breaks
	Survived      Fate = "survived"         // no case found it
	KilledByOther Fate = "killed by others" // only by cases that do not name its requirement
	Broken        Fate = "error"            // only trouble came of it: an error is no finding
	NotTried      Fate = "not tried"        // every case of its requirement was skipped, with the reason
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
	// Cases is the number of cases that were tried on mutants.
	Cases int `json:"cases"`
	// Idle are the cases that found no mutant; nil unless all mutants were run.
	Idle []string `json:"idle,omitempty"`
}

// MutantRow is the outcome of one mutant.
type MutantRow struct {
	ID          string        `json:"id"`
	Requirement string        `json:"requirement"`
	Title       string        `json:"title"`
	Fate        Fate          `json:"fate"`
	Reason      string        `json:"reason,omitempty"` // of a fate that is not killed
	Tried       int           `json:"tried"`            // cases that ran on it
	KilledBy    []Kill        `json:"killedBy"`         // in the order of the cases
	Errors      []Kill        `json:"errors,omitempty"` // cases that ended in trouble on it
	Duration    time.Duration `json:"durationNanos"`
}

// Kill is a case and what it said of a mutant.
type Kill struct {
	Case string `json:"case"`
	What string `json:"what"`
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

// ExitStatus is that of selftest: ExitNonconform if a mutant did not end as it
// must or a case found none, ExitEnvironment if the matrix is not complete or
// nothing could be tried.
func (m Matrix) ExitStatus() int {
	n := m.Fates()
	switch {
	case n[Survived]+n[KilledByOther]+n[Broken] > 0, m.Interrupted == "" && len(m.Idle) > 0:
		return ExitNonconform
	case m.Interrupted != "" || n[Killed] == 0:
		return ExitEnvironment
	}
	return ExitConforms
}
