// Package suitetest runs cases in tests: on the reference they must pass, on
// a sabotaged provider the right one must fail.
package suitetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// Run judges the target by the cases, whose data the seed decides.
func Run(tb testing.TB, env *redisenv.Env, t targets.Target, cases []harness.Case, seed int64) result.Run {
	tb.Helper()
	catalogue, err := contract.Load()
	if err != nil {
		tb.Fatal(err)
	}
	return harness.Run(context.Background(), harness.Config{
		Cases: cases, Catalogue: catalogue, Target: t, Reference: targets.InProcess(refprovider.New()), Env: env,
		Parallel: 8, Timeout: time.Minute, Seed: seed,
	})
}

// Passes fails the test for each case that does not pass on the target, with
// other data each time; a skipped
// case is logged with its reason.
func Passes(tb testing.TB, env *redisenv.Env, t targets.Target, cases []harness.Case) {
	tb.Helper()
	if len(cases) == 0 {
		tb.Fatal("no cases")
	}
	for _, c := range Run(tb, env, t, cases, time.Now().UnixNano()).Cases {
		switch c.Verdict {
		case result.Pass:
		case result.Skipped:
			tb.Logf("%s skipped: %s", c.ID, c.Reason)
		default:
			tb.Errorf("%s: %s %s\n%s", c.ID, c.Verdict, c.Reason, Show(c))
		}
	}
}

// Show writes the findings and the evidence of a case for a test's log.
func Show(c result.Case) string {
	var b strings.Builder
	for _, f := range c.Findings {
		b.WriteString(f.Requirement + " (" + f.Sentence + "): " + f.What + "\n" + f.Diff + "\n")
	}
	for _, group := range [][]string{c.Evidence.Operations, c.Evidence.Redis, c.Evidence.Notes} {
		for _, line := range group {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}
