package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// recoveryCases: first use, and instances that live on when a connection, a
// script or a server is lost.
func recoveryCases() []harness.Case {
	recovers := func(k *kind) string { return k.recover + " " + k.class }
	var cases []harness.Case
	for _, first := range breakdowns {
		if !first.connect {
			continue
		}
		cases = append(cases, eachKind("recovery/first-connect-"+first.slug,
			"A %s whose first connection failed "+first.title+" works once Redis is there.", recovers,
			func(t *harness.T, k *kind) { firstConnectFails(t, k, first, (*wiring).heal) })...)
	}
	cases = append(cases, silentForGoodCases(recovers)...)
	cases = append(cases, eachKind("recovery/first-use-of-16", "The first 16 operations of a %s, all at once, succeed.", recovers,
		func(t *harness.T, k *kind) {
			w := open(t, k, 0)
			w.proxy.Arm(redisenv.Connecting(), redisenv.Delay(50*time.Millisecond)) // so that all of them find no connection
			for _, err := range w.crowd() {
				t.Checkf(err == nil, k.recover, "one of the first 16 operations, all at once, failed: %v", err)
			}
		})...)
	cases = append(cases, eachKind("recovery/first-use-of-16-fails",
		"When the first connection of a %s is lost under 16 callers, each is told, and the instance works again.", recovers,
		func(t *harness.T, k *kind) {
			w := open(t, k, 0)
			w.proxy.Arm(redisenv.Connecting().Number(1), redisenv.Cut())
			for _, err := range w.crowd() {
				if err != nil {
					t.ErrorKind(k.class, "one of 16 operations of which one lost its connection", err, spi.KindStoreFailure,
						spi.KindTimeout)
				}
			}
			w.works("after its first connection was lost")
		})...)
	cases = append(cases, eachKind("recovery/all-connections-cut",
		"A %s whose connections are all lost, in rest and at work, works again.", recovers,
		func(t *harness.T, k *kind) {
			w := open(t, k, 0)
			for range 3 {
				w.crowd()
				w.proxy.CutAll()
				w.works("after all its connections were lost")
			}
		})...)
	cases = append(cases, eachKind("recovery/script-flush",
		"Operations of a %s go on as if nothing had happened when Redis has forgotten its scripts.", recovers, scriptFlush)...)
	return append(cases, eachKind("recovery/server-dies",
		"When Redis dies, operations of a %s end as store failures or timeouts and claim nothing.",
		func(k *kind) string { return k.class + " " + k.unknown }, serverDies)...)
}

// crowd runs 16 operations at once, each a write and a read of its own.
func (w *wiring) crowd() []error {
	errs := make([]error, 16)
	turn := w.named.Add(1)
	w.t.Concurrently(len(errs), func(i int) {
		name := fmt.Sprintf("crowd-%d-%d", turn, i)
		errs[i] = w.roundTrip(name)
	})
	return errs
}

// roundTrip writes a name of its own and reads it back; an error is the first
// failure, and a wrong answer is a finding.
func (w *wiring) roundTrip(name string) error {
	ctx := w.t.Context()
	var read any
	if w.kind == &location {
		answer, err := w.location.Write(ctx, write(given(ifMissing(spi.Key(name))), put(spi.Key(name), name)))
		if err != nil {
			return err
		}
		if _, ok := answer.(spi.Applied); !ok {
			w.t.Failf(w.kind.unknown, "a Put if missing of a new key answered %s", harness.Describe(answer))
		}
		if read, err = w.location.Read(ctx, spi.Key(name)); err != nil {
			return err
		}
	} else {
		answer, err := w.relocation.Put(ctx, spi.Reference(name), []byte(name), spi.Retention(hour))
		if err != nil {
			return err
		}
		if _, conflict := answer.(spi.Conflict); conflict {
			w.t.Failf(w.kind.unknown, "a Put of a new reference answered %s", harness.Describe(answer))
		}
		if read, err = w.relocation.Read(ctx, spi.Reference(name)); err != nil {
			return err
		}
	}
	if stateOf(read).bytes != name {
		w.t.Failf(w.kind.unknown, "a Read of what was just written answered %s", harness.Describe(read))
	}
	return nil
}

// firstConnectFails breaks the network before the store is opened. To fail on
// opening is no breach: there is no instance yet that could be spoilt.
func firstConnectFails(t *harness.T, k *kind, b breakdown, heal func(*wiring)) {
	w := &wiring{t: t, kind: k, proxy: t.Proxy(nil)}
	b.begin(w.proxy)
	store := harness.Store{Proxy: w.proxy, Timeout: failingTimeout}
	var err error
	if k == &location {
		w.location, err = t.Target().TryOpenLocation(store)
	} else {
		w.relocation, err = t.Target().TryOpenRelocation(store)
	}
	what := "the first operation of a " + k.title + " " + b.title
	if err != nil {
		t.ErrorKind(k.class, "opening a "+k.title+" "+b.title, err, spi.KindStoreFailure, spi.KindTimeout)
		return
	}
	for range 2 {
		if !w.bounded(k.timeout, what, failingTimeout+endLimit, func() { err = w.ping() }) {
			break // the fault is over
		}
		t.ErrorKind(k.class, what, err, spi.KindStoreFailure, spi.KindTimeout)
	}
	heal(w)
	w.works("after its first connection failed")
}

// scriptFlush makes Redis forget all scripts before every operation, on a
// server of its own.
func scriptFlush(t *harness.T, k *kind) {
	s := t.Server(redisenv.ServerOptions{})
	w, redis := openOn(t, k, s, 0), t.Client(s)
	for _, op := range operationsOf(k) {
		for range 2 {
			a := op.prepare(w, w.name(op))
			if err := redis.ScriptFlush(t.Context()).Err(); err != nil {
				t.Troublef("SCRIPT FLUSH failed: %v", err)
			}
			answer, err := a.do(t.Context())
			if err != nil {
				t.Failf(k.recover, "%s failed after SCRIPT FLUSH: %v", op.title, err)
				continue
			}
			if lie := a.lie(answer, a.look()); lie != "" {
				t.Failf(k.recover, "%s answered %s after SCRIPT FLUSH, but %s", op.title, harness.Describe(answer), lie)
			}
		}
	}
}

// serverDies stops a server of its own under an instance that has worked.
func serverDies(t *harness.T, k *kind) {
	s := t.Server(redisenv.ServerOptions{})
	w := openOn(t, k, s, failingTimeout)
	w.warm()
	if err := s.Close(); err != nil {
		t.Troublef("the server did not stop: %v", err)
	}
	for what, do := range w.blind() {
		answer, err := do()
		if err == nil {
			t.Failf(k.unknown, "%s after the server has died answered %s", what, harness.Describe(answer))
		} else {
			t.ErrorKind(k.class, what+" after the server has died", err, spi.KindStoreFailure, spi.KindTimeout)
		}
	}
}
