package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// lifetimeCases dispose of stores in trouble (L7.dispose, R7.shared).
func lifetimeCases() []harness.Case {
	requirements := func(k *kind) string { return k.dispose + " " + k.unknown + " " + k.class }
	cases := eachKind("dispose/at-work", "A %s can be disposed of, twice, while operations await an answer that comes; they "+
		"end, and other instances go on working.",
		requirements, func(t *harness.T, k *kind) { disposeAtWork(t, k, redisenv.HoldReply) })
	cases = append(cases, eachKind("dispose/at-work-silent",
		"A %s can be disposed of, twice, while operations await an answer that never comes; they end by their timeout.",
		requirements, func(t *harness.T, k *kind) { disposeAtWork(t, k, redisenv.Swallow) })...)
	return append(cases, eachKind("dispose/without-connection",
		"A %s can be disposed of, twice, after its connection was lost and while Redis is out of reach.",
		requirements, func(t *harness.T, k *kind) {
			w := open(t, k, failingTimeout)
			w.warm()
			w.proxy.Refuse()
			w.proxy.CutAll()
			w.dispose("after its connection was lost")
			w.dispose("again after its connection was lost")
		})...)
}

// dispose closes the instance, which must end in bounded time.
func (w *wiring) dispose(when string) {
	what := "Close " + when
	var err error
	if !w.bounded(w.kind.dispose, what, failingTimeout+endLimit, func() {
		err = w.close()
	}) {
		return
	}
	if err != nil {
		w.t.Failf(w.kind.dispose, "%s failed: %v", what, err)
	}
}

// disposeAtWork closes an instance while each of its operations is held up.
// Close may await them: the replies are let go soon after.
func disposeAtWork(t *harness.T, k *kind, action func() redisenv.Action) {
	ops := operationsOf(k)
	t.Concurrently(len(ops), func(i int) {
		w, op := open(t, k, failingTimeout), ops[i]
		what := fmt.Sprintf("%s whose store was disposed of meanwhile", op.title)
		w.warm()
		a := op.prepare(w, w.name(op))
		fault := w.proxy.Arm(redisenv.Match{}, action())
		var o outcome
		inTime := w.bounded(k.dispose, what, 2*failingTimeout+2*endLimit, func() {
			meanwhile(t, func() { o = a.run(t.Context()) }, func(ended <-chan struct{}) {
				select {
				case <-fault.Fired():
				case <-ended:
				}
				meanwhile(t, func() { w.dispose("during " + op.title) }, func(closed <-chan struct{}) {
					defer fault.Release()
					select {
					case <-closed:
					case <-time.After(50 * time.Millisecond):
					}
				})
			})
		})
		if inTime {
			w.failed(what, a, o, spi.KindCancelled)
		}
		w.dispose("again after " + op.title)
		ops[0].prepare(w, fmt.Sprintf("beside-%d", i)).look() // by the other instance
	})
}
