// Package result is the model of a finished conformance run: what the harness
// fills in and what every report is a pure function of.
package result

import "time"

// Verdict is the outcome of a case.
type Verdict string

const (
	Pass           Verdict = "pass"
	Fail           Verdict = "fail"            // a MUST is broken
	Advisory       Verdict = "advisory"        // a SHOULD is broken; fails with --strict
	Skipped        Verdict = "skipped"         // not judged, with the reason; never a pass
	KnownFailure   Verdict = "known failure"   // failed as the known-failures list says
	UnexpectedPass Verdict = "unexpected pass" // passed although the list says that it fails
	Flaky          Verdict = "flaky"           // failed and passed when repeated
	Error          Verdict = "error"           // harness, Redis or target trouble: no verdict on the provider
)

// Verdicts lists all verdicts in the order in which summaries show them.
func Verdicts() []Verdict {
	return []Verdict{Pass, Fail, Advisory, Skipped, KnownFailure, UnexpectedPass, Flaky, Error}
}

// Run is one run of the harness.
type Run struct {
	Tool         string        `json:"tool"` // version of zlink-conformance
	Target       Target        `json:"target"`
	Environments []Environment `json:"environments"`
	Seed         int64         `json:"seed"`
	Parallel     int           `json:"parallel"`
	Strict       bool          `json:"strict"`
	Started      time.Time     `json:"started"`
	Duration     time.Duration `json:"durationNanos"`
	Interrupted  string        `json:"interrupted,omitempty"` // why the run ended early, empty if it did not
	Deselected   int           `json:"deselected"`            // cases that --run and --skip left out, in one environment
	Required     []string      `json:"required,omitempty"`    // what --require names, as Target.Offers knows it
	Cases        []Case        `json:"cases"`                 // in the order of the suites
}

// Target names the provider that was judged.
type Target struct {
	Command      string   `json:"command"` // as given with --target
	Provider     string   `json:"provider"`
	Language     string   `json:"language"`
	Version      string   `json:"version"`
	Stores       []string `json:"stores"`
	Layout       string   `json:"layout"`
	Capabilities []string `json:"capabilities"`
}

// Environment is a Redis that the cases ran on.
type Environment struct {
	Name    string `json:"name"`    // e.g. "local redis-server 7.0.15", never with a password
	Version string `json:"version"` // of the server
}

// Case is the outcome of one case in one environment.
type Case struct {
	ID           string        `json:"id"`    // e.g. spi/batch/last-condition-false
	Suite        string        `json:"suite"` // e.g. spi/batch
	Title        string        `json:"title"`
	Requirements []string      `json:"requirements"`
	Needs        []string      `json:"needs,omitempty"` // what the target must offer for it
	Environment  string        `json:"environment"`
	Verdict      Verdict       `json:"verdict"`
	Reason       string        `json:"reason,omitempty"`   // of a skip, an error or a known failure
	Unchosen     bool          `json:"unchosen,omitempty"` // skipped because it runs with --large alone
	Duration     time.Duration `json:"durationNanos"`
	Findings     []Finding     `json:"findings,omitempty"`
	Evidence     Evidence      `json:"evidence"`
	Repeat       string        `json:"repeat,omitempty"` // the command that repeats a case that did not pass
}

// Finding is one broken sentence of the contract.
type Finding struct {
	Requirement string `json:"requirement"` // ID
	Level       string `json:"level"`       // MUST or SHOULD
	Sentence    string `json:"sentence"`    // the requirement in one sentence
	Source      string `json:"source"`      // document and section
	What        string `json:"what"`        // what was checked and what was wrong with it
	Diff        string `json:"diff,omitempty"`
	More        int    `json:"more,omitempty"` // further findings of the case, of which only the number was kept; of the last one
}

// Evidence is what helps to understand a case that did not pass.
type Evidence struct {
	Operations []string `json:"operations,omitempty"` // the last operations and their answers
	Redis      []string `json:"redis,omitempty"`      // raw state of the case's keys
	Log        []string `json:"log,omitempty"`        // the target's stderr during the case
	Notes      []string `json:"notes,omitempty"`
}

// Counts returns the number of cases of each verdict.
func Counts(cases []Case) map[Verdict]int {
	n := map[Verdict]int{}
	for _, c := range cases {
		n[c.Verdict]++
	}
	return n
}

// Exit statuses of zlink-conformance.
const (
	ExitConforms    = 0
	ExitNonconform  = 1 // a MUST is broken, a flaky case, or an advisory with --strict
	ExitUsage       = 2 // bad flags or configuration, a stale known-failure entry
	ExitEnvironment = 3 // no Redis, target trouble, an interrupted run
)

// ExitStatus is the exit status that the run deserves. A failure outweighs
// trouble: a broken contract stays proven when the target dies later.
func (r Run) ExitStatus() int {
	n := Counts(r.Cases)
	switch {
	case n[Fail] > 0 || n[Flaky] > 0 || r.Strict && n[Advisory] > 0 || len(r.Unmet()) > 0:
		return ExitNonconform
	case n[Error] > 0 || r.Interrupted != "":
		return ExitEnvironment
	case n[UnexpectedPass] > 0:
		return ExitUsage
	case n[Pass]+n[Advisory]+n[KnownFailure] == 0:
		return ExitEnvironment // everything was skipped: nothing was judged
	case len(r.Untried()) > 0:
		return ExitEnvironment
	}
	return ExitConforms
}
