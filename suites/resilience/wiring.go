package resilience

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Real time that a case gives a target before it judges: a loaded machine and
// a client that connects again after a pause of its own must have enough.
const (
	recoverLimit = 10 * time.Second
	endLimit     = 3 * time.Second // beyond the operation timeout
)

const (
	hour = spi.Millis(60 * 60 * 1000)
	day  = 24 * hour
)

// wiring is an instance of the target behind a fault proxy, and a second
// instance beside the proxy, which prepares and tells what is really there.
type wiring struct {
	t     *harness.T
	kind  *kind
	proxy *redisenv.Proxy
	named atomic.Int32

	location, sideLocation     *harness.Location
	relocation, sideRelocation *harness.Relocation
}

// open makes a wiring on the main server. A timeout of 0 is the provider's own.
func open(t *harness.T, k *kind, timeout time.Duration) *wiring {
	return openOn(t, k, nil, timeout)
}

// openOn makes a wiring on the server. The instance behind the proxy is opened,
// and not used yet.
func openOn(t *harness.T, k *kind, server *redisenv.Server, timeout time.Duration) *wiring {
	w := &wiring{t: t, kind: k, proxy: t.Proxy(server)}
	side := harness.Store{Server: server}
	faulty := harness.Store{Server: server, Proxy: w.proxy, Timeout: timeout}
	if k == &location {
		w.sideLocation, w.location = t.Target().OpenLocation(side), t.Target().OpenLocation(faulty)
	} else {
		w.sideRelocation, w.relocation = t.Target().OpenRelocation(side), t.Target().OpenRelocation(faulty)
	}
	return w
}

// name returns a new name for the key or reference of an operation.
func (w *wiring) name(op operation) string { return w.fresh(op.slug) }

// fresh returns a name that no wiring of the case has used: each has a proxy of
// its own, or is the only one.
func (w *wiring) fresh(what string) string {
	port := 0
	if w.proxy != nil {
		port = w.proxy.ConnInfo().Port
	}
	return fmt.Sprintf("%s-%d-%d", what, port, w.named.Add(1))
}

// close disposes the instance behind the proxy.
func (w *wiring) close() error {
	if w.kind == &location {
		return w.location.Close()
	}
	return w.relocation.Close()
}

// ping uses the instance behind the proxy once: it reads an absent name.
func (w *wiring) ping() error { return w.pingUnder(w.t.Context()) }

// pingUnder is ping with a token.
func (w *wiring) pingUnder(token context.Context) error {
	var err error
	if w.kind == &location {
		_, err = w.location.Read(token, "absent")
	} else {
		_, err = w.relocation.Read(token, "absent")
	}
	return err
}

// works waits until the instance behind the proxy works. after says what it
// has to recover from.
func (w *wiring) works(after string) {
	w.worksBy(w.kind.recover, after)
}

func (w *wiring) worksBy(requirement, after string) {
	w.t.Await(requirement, "a successful operation of the same instance "+after, recoverLimit,
		func() bool { return w.ping() == nil })
}

// warm brings the instance behind the proxy to the point where it has
// connected and done everything that only a first use needs.
func (w *wiring) warm() { w.worksBy(w.t.Closest(), "on a Redis that answers") }

// disarm ends all faults.
func (w *wiring) disarm() {
	if err := w.proxy.Reset(); err != nil {
		w.t.Troublef("the fault proxy did not open its port again: %v", err)
	}
}

// heal ends all faults and cuts the connections that they left silent, so that
// every client notices.
func (w *wiring) heal() {
	w.disarm()
	w.proxy.CutAll()
}

// commands is how many commands the operation sends to Redis once the instance
// has been used.
func (w *wiring) commands(op operation) int {
	var mark redisenv.Mark
	for range 2 { // the first time it may load scripts
		a := op.prepare(w, w.name(op))
		mark = w.proxy.Mark()
		answer, err := a.do(w.t.Context())
		if err != nil {
			w.t.Fatalf(w.t.Closest(op.rule), "%s failed on a Redis without a fault: %v", op.title, err)
		}
		if lie := a.lie(answer, a.look()); lie != "" {
			w.t.Fatalf(w.t.Closest(op.rule), "%s answered %s on a Redis without a fault, but %s", op.title,
				harness.Describe(answer), lie)
		}
	}
	n := len(w.proxy.CommandsSince(mark))
	if n == 0 {
		w.t.Skipf("%s sends no command to Redis, so that none can be aimed at", op.title)
	}
	return n
}

// each lists the commands to aim at, of the n that an operation sends.
func each(n int) []int {
	const most = 6
	var list []int
	for i := 1; i <= n; i++ {
		if i <= most/2 || i > n-most/2 {
			list = append(list, i)
		}
	}
	return list
}

// outcome is how an operation ended.
type outcome struct {
	answer any
	err    error
}

func (a attempt) run(ctx context.Context) outcome {
	answer, err := a.do(ctx)
	return outcome{answer, err}
}

// bounded runs the operation. If it has not ended within the limit, that is a
// finding, and its connections are cut; how it ends then says nothing more, and
// bounded reports false.
func (w *wiring) bounded(requirement, what string, limit time.Duration, operation func()) (inTime bool) {
	inTime = true
	meanwhile(w.t, operation, func(ended <-chan struct{}) {
		select {
		case <-ended:
		case <-time.After(limit):
			w.t.Failf(requirement, "%s had not ended %v after its start", what, limit)
			inTime = false
			w.heal()
		}
	})
	return inTime
}

// meanwhile runs f while the operation is under way. The channel is closed
// when the operation has ended.
func meanwhile(t *harness.T, operation func(), f func(ended <-chan struct{})) {
	ended := make(chan struct{})
	t.Concurrently(2, func(i int) {
		if i == 1 {
			f(ended)
			return
		}
		defer close(ended)
		operation()
	})
}

// failed checks that an error is a failure of the store, or that an answer is
// true all the same: a read that was asked again, for example. Kinds of error
// beside store failure and timeout may be allowed.
func (w *wiring) failed(what string, a attempt, o outcome, also ...spi.ErrorKind) {
	if o.err != nil {
		w.t.ErrorKind(w.kind.class, what, o.err, append(also, spi.KindStoreFailure, spi.KindTimeout)...)
		return
	}
	if lie := a.lie(o.answer, a.look()); lie != "" {
		w.t.Failf(w.kind.unknown, "%s answered %s, but %s", what, harness.Describe(o.answer), lie)
	}
}
