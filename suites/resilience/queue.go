package resilience

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// queueCases: many operations of one instance at once. Each has its own
// timeout, whatever it waits for, and leaves nothing behind.
func queueCases() []harness.Case {
	bounds := func(k *kind) string { return strings.Join([]string{k.timeout, k.class, k.unknown, k.recover}, " ") }
	cases := eachKind("timeout/queue",
		"Of 64 operations of a %s at once, none of which is answered, the last one does not wait for the timeouts of the others.",
		bounds, queued)
	places := eachKind("pool/places",
		"A %s works as before after 100 operations at once that timed out and 100 that were cancelled: 64 at once succeed.",
		func(k *kind) string { return k.recover + " " + k.class + " " + k.unknown }, placesKept)
	for i := range places {
		places[i].Slow = true
	}
	return slices.Concat(cases, places,
		eachKind("timeout/shared-pool",
			"A %s whose connection is busy with the operations of a more patient store keeps its own operation timeout.", bounds,
			sharedPool, targets.CapSharedConnection))
}

// queued judges by a limit of a quarter of all timeouts one after the other, so
// that a provider may still wait for a place a few times.
func queued(t *harness.T, k *kind) {
	const timeout, many = 300 * time.Millisecond, 64
	const limit = many/4*timeout + endLimit
	t.Concurrently(2, func(i int) {
		w := open(t, k, timeout)
		b := breakdownOf([]string{"silent", "silent-at-connect"}[i])
		w.warm()
		b.begin(w.proxy)
		what := fmt.Sprintf("one of %d operations at once %s, with an operation timeout of %v,", many, b.title, timeout)
		ops := w.blindly()
		w.bounded(k.timeout, what, limit, func() {
			t.Concurrently(many, func(i int) {
				answer, err := ops[i%len(ops)]()
				if err == nil {
					t.Failf(k.unknown, "%s answered %s", what, harness.Describe(answer))
				} else {
					t.ErrorKind(k.class, what, err, spi.KindTimeout, spi.KindStoreFailure)
				}
			})
		})
		w.heal()
		w.works("after " + what)
	})
}

// blindly lists the blind operations in one order.
func (w *wiring) blindly() []func() (any, error) {
	blind := w.blind()
	var names []string
	for name := range blind {
		names = append(names, name)
	}
	slices.Sort(names)
	var list []func() (any, error)
	for _, name := range names {
		list = append(list, blind[name])
	}
	return list
}

// sharedPool lets as many operations of the patient store wait as a provider
// may have connections.
func sharedPool(t *harness.T, k *kind) {
	const patients = 96
	w := open(t, k, 0)
	w.warm()
	guest := w.share(k, failingTimeout)
	guest.warm()
	held := w.proxy.Arm(redisenv.Match{}, redisenv.Hold())
	what := fmt.Sprintf("an operation with a timeout of %v beside %d of another store on the connection", failingTimeout,
		patients)
	ops := w.blindly()
	meanwhile(t, func() {
		t.Concurrently(patients, func(i int) {
			// A provider may give the connection up for all when it was silent for one.
			if _, err := ops[i%len(ops)](); err != nil {
				t.ErrorKind(k.class, "an operation that was held up", err, spi.KindTimeout, spi.KindStoreFailure)
			}
		})
	}, func(ended <-chan struct{}) {
		defer held.Release()
		select {
		case <-held.Fired():
		case <-ended:
			return
		}
		t.Pause(100 * time.Millisecond) // for all of them to get as far as they can
		var err error
		if guest.bounded(k.timeout, what, failingTimeout+endLimit, func() { err = guest.ping() }) {
			t.ErrorKind(k.timeout, what, err, spi.KindTimeout)
		}
	})
	w.heal()
	w.works("after it was held up")
	guest.works("after " + what)
}

// placesKept makes operations end without an answer, more than a provider may
// have places for.
func placesKept(t *harness.T, k *kind) {
	const times, timeout = 100, time.Second
	w := open(t, k, timeout)
	w.warm()
	w.proxy.Arm(redisenv.Match{}, redisenv.Swallow())
	t.Concurrently(times, func(int) {
		if err := w.ping(); err != nil {
			t.ErrorKind(k.class, "an operation that is not answered", err, spi.KindTimeout, spi.KindStoreFailure)
		}
	})
	w.heal()
	w.atOnce(64, fmt.Sprintf("after %d operations at once that timed out", times))
	if !t.Target().Info().Has(targets.CapCancellation) {
		return
	}
	w = open(t, k, 0)
	const turns = 10
	for range turns {
		w.works("after operations that were cancelled")
		held := w.proxy.Arm(redisenv.Match{}, redisenv.HoldReply())
		mark := w.proxy.Mark()
		token, cancel := context.WithCancel(t.Context())
		meanwhile(t, func() {
			t.Concurrently(times/turns, func(int) {
				if err := w.pingUnder(token); err != nil {
					t.ErrorKind(k.class, "an operation that was cancelled under way", err,
						spi.KindCancelled, spi.KindTimeout, spi.KindStoreFailure)
				}
			})
		}, func(<-chan struct{}) {
			for deadline := time.Now().Add(endLimit / 10); len(w.proxy.CommandsSince(mark)) < times/turns &&
				time.Now().Before(deadline); {
				t.Pause(2 * time.Millisecond)
			}
			cancel()
			held.Release()
		})
		w.heal()
	}
	w.atOnce(64, fmt.Sprintf("after %d operations that were cancelled", times))
}

// atOnce runs operations of the instance at once until each of them has
// succeeded once, and returns the names that they wrote. One that fails may have
// met the operation timeout, on a machine that is busy.
func (w *wiring) atOnce(many int, after string) []string {
	w.works(after)
	names := make([]string, many)
	w.t.Concurrently(many, func(i int) {
		what := fmt.Sprintf("success of each of %d operations at once %s", many, after)
		w.t.Await(w.kind.recover, what, recoverLimit, func() bool {
			names[i] = w.fresh("at-once")
			return w.roundTrip(names[i]) == nil
		})
	})
	return names
}
