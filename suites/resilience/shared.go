package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// sharedCases: stores on one connection disturb each other in nothing.
func sharedCases() []harness.Case {
	cases := eachKind("timeout/shared",
		"A %s that shares the connection of another store keeps its own operation timeout, be it shorter or longer.",
		func(k *kind) string { return k.timeout + " " + k.recover }, ownTimeout, targets.CapSharedConnection)
	for i := range cases {
		cases[i].Slow = true
	}
	return append(cases, eachKind("dispose/shared-at-work",
		"Operations of a %s that are under way when another store on its connection is closed end as if nothing had happened.",
		func(k *kind) string { return k.dispose + " " + k.recover }, sharedAtWork, targets.CapSharedConnection)...)
}

// offered are the kinds of store that the target has.
func offered(t *harness.T) []*kind {
	var of []*kind
	for _, k := range kinds {
		if t.Target().Info().Offers(k.offered) {
			of = append(of, k)
		}
	}
	return of
}

// share is the wiring of a second instance on the connection of the first.
func (w *wiring) share(k *kind, timeout time.Duration) *wiring {
	s := &wiring{t: w.t, kind: k, proxy: w.proxy}
	var owner targets.Store = w.relocation
	if w.kind == &location {
		owner = w.location
	}
	side, guest := harness.Store{}, harness.Store{Proxy: w.proxy, Timeout: timeout, Share: owner}
	if k == &location {
		s.sideLocation, s.location = w.t.Target().OpenLocation(side), w.t.Target().OpenLocation(guest)
	} else {
		s.sideRelocation, s.relocation = w.t.Target().OpenRelocation(side), w.t.Target().OpenRelocation(guest)
	}
	return s
}

// ownTimeout holds an operation of the guest up: one with a short timeout must
// end although the owner's is long, and one with a long timeout must not end
// although the owner's is long over.
func ownTimeout(t *harness.T, k *kind) {
	owners := offered(t)
	t.Concurrently(2*len(owners), func(i int) {
		ownerKind, short := owners[i/2], i%2 == 0
		times := []time.Duration{0, failingTimeout}
		if !short {
			times = []time.Duration{failingTimeout, 0}
		}
		owner := open(t, ownerKind, times[0])
		guest := owner.share(k, times[1])
		owner.warm()
		guest.warm()
		held := owner.proxy.Arm(redisenv.Match{}, redisenv.Hold())
		what := fmt.Sprintf("an operation of a %s, on the connection of a %s that was opened with another operation timeout,",
			k.title, ownerKind.title)
		var err error
		if short {
			if guest.bounded(k.timeout, what, failingTimeout+endLimit, func() { err = guest.ping() }) {
				t.ErrorKind(k.timeout, what, err, spi.KindTimeout)
			}
		} else {
			meanwhile(t, func() { err = guest.ping() }, func(ended <-chan struct{}) {
				defer held.Release()
				select {
				case <-ended:
				case <-time.After(3 * failingTimeout):
				}
			})
			t.Checkf(err == nil, k.timeout, "%s ended with %v, although its own timeout was not over", what, err)
		}
		owner.heal()
		guest.works("after it was held up")
	})
}

// sharedAtWork closes the store that opened the connection, and in another turn
// the one that shares it, while the other's operations await their replies.
func sharedAtWork(t *harness.T, k *kind) {
	others := offered(t)
	t.Concurrently(2*len(others), func(i int) {
		var kept, closed *wiring
		if i%2 == 0 {
			closed = open(t, others[i/2], 0)
			kept = closed.share(k, 0)
		} else {
			kept = open(t, k, 0)
			closed = kept.share(others[i/2], 0)
		}
		kept.warm()
		closed.warm()
		ops := operationsOf(k)
		attempts, outcomes := make([]attempt, len(ops)), make([]outcome, len(ops))
		for i, op := range ops {
			attempts[i] = op.prepare(kept, kept.name(op))
		}
		mark := kept.proxy.Mark()
		held := kept.proxy.Arm(redisenv.Match{}, redisenv.HoldReply())
		meanwhile(t, func() {
			t.Concurrently(len(ops), func(i int) { outcomes[i] = attempts[i].run(t.Context()) })
		}, func(ended <-chan struct{}) {
			defer held.Release()
			// All are under way, or as many as the provider lets.
			for deadline := time.Now().Add(endLimit / 3); len(kept.proxy.CommandsSince(mark)) < len(ops) &&
				time.Now().Before(deadline); {
				t.Pause(2 * time.Millisecond)
			}
			meanwhile(t, func() { closed.dispose("of one of two stores on a connection") }, func(done <-chan struct{}) {
				defer held.Release()
				select {
				case <-done:
				case <-time.After(50 * time.Millisecond):
				}
			})
		})
		for i, o := range outcomes {
			what := fmt.Sprintf("%s that was under way when a %s on the same connection was closed", ops[i].title,
				closed.kind.title)
			if !t.Checkf(o.err == nil, k.dispose, "%s ended with %v", what, o.err) {
				continue
			}
			if lie := attempts[i].lie(o.answer, attempts[i].look()); lie != "" {
				t.Failf(k.dispose, "%s answered %s, but %s", what, harness.Describe(o.answer), lie)
			}
		}
		err := kept.ping()
		t.Checkf(err == nil, k.dispose, "an operation after the other store on the connection was closed ended with %v", err)
	})
}
