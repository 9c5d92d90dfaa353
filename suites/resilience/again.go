package resilience

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
)

// againCases: an operation that is tried again within its timeout, for another
// reason than unknownCases know, takes effect once all the same.
func againCases() []harness.Case {
	requirements := func(k *kind) string {
		return strings.Join([]string{k.unknown, k.class, k.recover, k.reconstruct, k.timeout}, " ")
	}
	return slices.Concat(
		eachKind("unknown/reset-at-reply",
			"Every operation of a %s whose connection is reset after Redis has executed a command fails truly, and writes once.",
			requirements, func(t *harness.T, k *kind) {
				for _, op := range operationsOf(k) {
					w := open(t, k, 0)
					for _, n := range each(w.commands(op)) {
						lose(w, loss{title: "was reset at the reply to %s", action: redisenv.ResetAtReply}, op, n)
					}
				}
			}),
		eachKind("unknown/first-reply-dropped",
			"Every first operation of a %s that loses a reply fails or tells the truth, and takes effect once.",
			requirements, func(t *harness.T, k *kind) {
				const most = 4 // commands of an operation
				ops := coldOperations(k)
				t.Concurrently(len(ops), func(i int) {
					for n := 1; n <= most; n++ {
						lose(open(t, k, 0), losses[1], ops[i], n)
					}
				})
			}),
		eachKind("unknown/reply-held",
			"Every operation of a %s of which one reply comes too late is not tried again in the meantime.",
			requirements, func(t *harness.T, k *kind) {
				ops := operationsOf(k)
				t.Concurrently(len(ops), func(i int) {
					for _, n := range each(open(t, k, 0).commands(ops[i])) {
						held(open(t, k, heldTimeout), ops[i], n)
					}
				})
			}))
}

const heldTimeout = 900 * time.Millisecond

// held keeps the reply to the n-th command back until the operation has ended,
// and lets pass what it sends after that as soon as it is known what the n-th
// command did.
func held(w *wiring, op operation, n int) {
	what := fmt.Sprintf("%s, of which the reply to command %d is late,", op.title, n)
	w.warm()
	a := op.prepare(w, w.name(op))
	before := a.look()
	late := w.proxy.Arm(redisenv.Match{}.Number(n), redisenv.HoldReply())
	next := w.proxy.Arm(redisenv.Match{}.Number(n+1), redisenv.Hold())
	var o outcome
	var landed state
	inTime := w.bounded(w.kind.timeout, what, heldTimeout+endLimit, func() {
		meanwhile(w.t, func() { o = a.run(w.t.Context()) }, func(ended <-chan struct{}) {
			defer next.Release()
			select {
			case <-late.Fired():
			case <-ended:
			}
			landed = a.look()
		})
	})
	w.heal()
	if inTime {
		w.failed(what, a, o)
	}
	if after := a.look(); op.once && landed != before {
		w.t.Checkf(after == landed, w.kind.unknown, "%s was applied twice: first %s, and in the end %s", what, landed, after)
	}
	w.works("after " + what)
}
