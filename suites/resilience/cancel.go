package resilience

import (
	"context"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// cancelCases cancel operations that are under way. How soon one ends then is
// open; that it claims nothing which it can't know is not.
func cancelCases() []harness.Case {
	requirements := func(k *kind) string { return k.unknown + " " + k.recover + " " + k.class }
	return append(
		eachKind("cancel/silent", "Every operation of a %s that is cancelled while Redis is silent fails, and "+
			"works again afterwards.",
			requirements, func(t *harness.T, k *kind) { cancelled(t, k, redisenv.Swallow) }, targets.CapCancellation),
		eachKind("cancel/applied", "Every operation of a %s that is cancelled after Redis has executed its first command "+
			"fails or tells the truth.",
			requirements, func(t *harness.T, k *kind) { cancelled(t, k, redisenv.HoldReply) }, targets.CapCancellation)...)
}

func cancelled(t *harness.T, k *kind, action func() redisenv.Action) {
	const timeout = 800 * time.Millisecond // ends what ignores the token
	ops := operationsOf(k)
	t.Concurrently(len(ops), func(i int) {
		w, op := open(t, k, timeout), ops[i]
		what := op.title + " that was cancelled under way"
		w.warm()
		a := op.prepare(w, w.name(op))
		before := a.look()
		fault := w.proxy.Arm(redisenv.Match{}, action())
		token, cancel := context.WithCancel(t.Context())
		defer cancel()
		var o outcome
		var landed state
		meanwhile(t, func() { o = a.run(token) }, func(ended <-chan struct{}) {
			defer fault.Release()
			select {
			case <-fault.Fired():
				landed = a.look()
				cancel()
			case <-ended:
				landed = a.look()
			}
			select {
			case <-ended:
			case <-time.After(timeout + endLimit):
				t.Failf(k.unknown, "%s had not ended %v after that", what, timeout+endLimit)
			}
		})
		w.heal()
		w.failed(what, a, o, spi.KindCancelled)
		if after := a.look(); op.once && landed != before {
			t.Checkf(after == landed, k.unknown, "%s was applied twice: first %s, and in the end %s", what, landed, after)
		}
		w.works("after " + what)
	})
}
