package mutants

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Variant is a lawful variant: a provider that is right in another way than
// the reference. A case that fails on one is wrong itself.
type Variant struct {
	// ID is a stable slug of the section lawful.
	ID string
	// Allowed is the requirement of which the text, or our reading, leaves open
	// what the variant does otherwise.
	Allowed string
	// Title says in one sentence what it does otherwise.
	Title string

	edits    []edit                  // of the reference's scripts
	provider func() targets.Provider // nil: the reference, with the edits
	except   []string                // globs of the cases that it can't be judged by; each with its reason beside it
}

// faultCases are about what becomes of commands on their way. A variant's are
// the reference's, or those of a client beside its store; the resilience suite
// has variants of its own for them (TestAllowed).
var faultCases = []string{
	"resilience/cancel/*", "resilience/cold/*", "resilience/connection/*", "resilience/dispose/*", "resilience/failure/*",
	"resilience/pool/*",
	"resilience/recovery/*", "resilience/timeout/*", "resilience/topology/*", "resilience/torn/*", "resilience/unknown/*",
}

// Target is the variant as a target in this process.
func (v Variant) Target() targets.Target {
	return Mutant{edits: v.edits, provider: v.provider}.Target()
}

// again replaces the outcomes of cases that ended in trouble or met a limit of
// time by what they come to when they run one after the other: beside several
// targets on one Redis the machine may be the reason.
func (r *runner) again(ctx context.Context, v Variant, cases []harness.Case, outcomes []result.Case) error {
	for i, o := range outcomes {
		if !strained(o) {
			continue
		}
		at := slices.IndexFunc(cases, func(c harness.Case) bool { return c.ID == o.ID })
		r.heavy.Lock()
		calm, err := r.harness(ctx, v.Target, cases[at:at+1], variantTimeout)
		r.heavy.Unlock()
		if err != nil {
			return err
		}
		outcomes[i] = calm[0]
	}
	return nil
}

// strained reports whether a slow machine may be why a case did not pass.
func strained(c result.Case) bool {
	return c.Verdict == result.Error || slices.ContainsFunc(c.Findings, func(f result.Finding) bool {
		return strings.Contains(f.What, "timeout") || strings.Contains(f.What, "timed out")
	})
}

// judge runs the cases on a lawful variant.
func (r *runner) judge(ctx context.Context, v Variant) (result.VariantRow, error) {
	started := time.Now()
	row := result.VariantRow{ID: v.ID, Allowed: v.Allowed, Title: v.Title}
	if err := (Mutant{ID: v.ID, edits: v.edits}).check(); err != nil {
		row.Alarms = []result.Kill{{What: err.Error()}}
		return row, nil
	}
	cases := slices.DeleteFunc(slices.Clone(r.config.Cases), func(c harness.Case) bool {
		return slices.ContainsFunc(slices.Concat(faultCases, v.except), func(glob string) bool {
			ok, _ := path.Match(glob, c.ID)
			return ok
		})
	})
	outcomes, err := r.run(ctx, v.Target, cases, variantTimeout)
	if err != nil {
		return row, err
	}
	if err := r.again(ctx, v, cases, outcomes); err != nil {
		return row, err
	}
	for _, c := range outcomes {
		switch c.Verdict {
		case result.Skipped:
			continue
		case result.Fail:
			f := c.Findings[0]
			row.Alarms = append(row.Alarms, result.Kill{Case: c.ID, What: f.Requirement + ": " + f.What})
		case result.Error:
			row.Alarms = append(row.Alarms, result.Kill{Case: c.ID, What: c.Reason})
		}
		row.Tried++
	}
	row.Duration = time.Since(started)
	return row, nil
}
