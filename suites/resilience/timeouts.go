package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// timeoutCases: what the operation timeout bounds, and a write that lands
// after it (R5.timeout, L6.timeout).
func timeoutCases() []harness.Case {
	cases := eachKind("timeout/connect-and-command",
		"The operation timeout of a %s bounds connecting and the command together: 3/4 of it for each is too much.",
		func(k *kind) string { return k.timeout + " " + k.class }, func(t *harness.T, k *kind) {
			t.Concurrently(2, func(i int) { slowInTwoPhases(t, k, i == 0) })
		})
	cases = append(cases, eachKind("timeout/lands-late",
		"An operation of a %s times out before the reply to its first command comes; what it did shows when it is asked for.",
		func(k *kind) string { return k.unknown + " " + k.timeout + " " + k.reconstruct + " " + k.class }, landsLate)...)
	return append(cases,
		relocationCase("timeout/late-put",
			"A Put of a payload that reaches Redis after its timeout shows as AlreadyStored when it is tried again.",
			"R5.timeout R5.reconcile", latePut))
}

// slowInTwoPhases delays connecting and then the first command by 3/4 of the
// timeout: only a provider that starts the clock anew in between can succeed.
// A delay of each command would hide that of one which sends several.
func slowInTwoPhases(t *harness.T, k *kind, first bool) {
	const timeout = 600 * time.Millisecond
	w := open(t, k, timeout)
	what := "the first operation of a " + k.title
	if _, total := w.proxy.Connections(); !first || total > 0 {
		// With a connection of before, or one that was made on opening, the next
		// operation has to connect again.
		what = "an operation of a " + k.title + " that lost its connection before"
		w.warm()
		first = false
	}
	w.proxy.Arm(redisenv.Connecting(), redisenv.Delay(timeout*3/4))
	w.proxy.Arm(redisenv.Match{}.Number(1), redisenv.Delay(timeout*3/4))
	if !first { // only now: a client may connect again by itself
		w.proxy.CutAll()
	}
	what = fmt.Sprintf("%s, with connecting and the first command each delayed by 3/4 of the operation timeout,", what)
	var err error
	start := time.Now()
	inTime := w.bounded(k.timeout, what, timeout+endLimit, func() { err = w.ping() })
	took := time.Since(start)
	switch {
	case !inTime:
	case err == nil && took < timeout*5/4:
		// What was delayed was another connection of the provider, or a command
		// of the provider's own, so that the operation had time enough.
		t.Notef("%s succeeded after %v, so it was not delayed", what, took)
	case err == nil:
		t.Failf(k.timeout, "%s succeeded after %v", what, took)
	case t.ErrorKind(k.class, what, err, spi.KindTimeout, spi.KindStoreFailure) && first:
		// After a lost connection the loss itself may be what is reported.
		t.Checkf(spi.KindOf(err) == spi.KindTimeout, k.timeout, "%s ended with %v, expected an error of kind timeout", what, err)
	}
}

// landsLate keeps all replies back until the operation has ended.
func landsLate(t *harness.T, k *kind) {
	ops := operationsOf(k)
	t.Concurrently(len(ops), func(i int) {
		w, op := open(t, k, failingTimeout), ops[i]
		what := fmt.Sprintf("%s of which the reply comes after its timeout", op.title)
		w.warm()
		a := op.prepare(w, w.name(op))
		before := a.look()
		late := w.proxy.Arm(redisenv.Match{}, redisenv.HoldReply())
		var o outcome
		inTime := w.bounded(k.timeout, what, failingTimeout+endLimit, func() { o = a.run(t.Context()) })
		landed := a.look()
		late.Release()
		if inTime {
			w.failed(what, a, o)
		}
		w.heal()
		after := a.look()
		if op.once && landed != before {
			t.Checkf(after == landed, k.unknown, "%s was applied twice: after the timeout %s, and in the end %s", what, landed,
				after)
		}
		w.works("after a reply that came too late")
		if a.again != nil {
			w.settled(func() { a.again(after) })
		}
	})
}

// settled runs f on an instance of the same wiring whose timeout is the
// provider's own: what it checks is an outcome and not how fast it comes.
func (w *wiring) settled(f func()) {
	faulty := harness.Store{Proxy: w.proxy}
	if w.kind == &location {
		w.location = w.t.Target().OpenLocation(faulty)
	} else {
		w.relocation = w.t.Target().OpenRelocation(faulty)
	}
	f()
}

// latePut holds the commands of a Put until it has timed out and lets them go
// then. Whether they still take effect before the Put that follows is open.
func latePut(t *harness.T) {
	w := open(t, &relocation, failingTimeout)
	const what = "a Put of a payload that is held up on its way"
	w.warm()
	held := w.proxy.Arm(redisenv.Match{}, redisenv.Hold())
	var err error
	if w.bounded("R5.timeout", what, failingTimeout+endLimit, func() {
		_, err = w.relocation.Put(t.Context(), "late", []byte(newBytes), spi.Retention(hour))
	}) {
		t.ErrorKind("R5.timeout", what, err, spi.KindTimeout)
	}
	held.Release()
	w.heal()
	w.works("after a Put that timed out")
	w.settled(func() {
		r := w.relocation.MustPut("late", []byte(newBytes), spi.Retention(hour))
		if _, conflict := r.(spi.Conflict); conflict {
			t.Failf("R5.timeout", "Put again with the same bytes answered %s", harness.Describe(r))
		}
		r = w.relocation.MustPut("late", []byte(newBytes), spi.Retention(hour))
		_, already := r.(spi.AlreadyStored)
		t.Checkf(already, "R5.timeout", "the third Put of the same bytes answered %s", harness.Describe(r))
		t.EqualBytes("R5.reconcile", "the payload", []byte(newBytes), w.relocation.MustFind("late").Bytes)
	})
}
