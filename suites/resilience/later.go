package resilience

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// laterCases: an operation that has failed is over. Its caller has looked what
// came of it, and whoever wrote since then relies on that.
func laterCases() []harness.Case {
	return []harness.Case{
		locationCase("unknown/over-when-failed-location",
			"A write that has failed does not take effect later, over what was written since.",
			"L6.reconstruct L6.timeout L6.recover", func(t *harness.T) { overWhenFailed(t, &location, latePuts) }),
		relocationCase("unknown/over-when-failed-relocation",
			"A Delete of a payload that has failed does not remove it later, when a Put has answered since that it is stored.",
			"R6.published R5.timeout R5.recover", func(t *harness.T) { overWhenFailed(t, &relocation, lateDeletes) }),
	}
}

func overWhenFailed(t *harness.T, k *kind, writes []lateWrite) {
	t.Concurrently(len(writes)*len(outages), func(i int) {
		writtenSince(open(t, k, failingTimeout), outages[i/len(writes)], writes[i%len(writes)])
	})
}

// outages keep an operation from Redis, or its reply from the caller.
var outages = []breakdown{
	breakdownOf("refused"),
	breakdownOf("reset"),
	breakdownOf("reset-at-command"),
	breakdownOf("silent"),
	breakdownOf("silent-at-connect"),
	{title: "while replies are lost", begin: func(p *redisenv.Proxy) { p.Arm(redisenv.Match{}, redisenv.DropReply()) }},
}

// breakdownOf is the breakdown of that slug.
func breakdownOf(slug string) breakdown {
	return breakdowns[slices.IndexFunc(breakdowns, func(b breakdown) bool { return b.slug == slug })]
}

// lateWrite is a write, and what somebody else does after it has failed.
type lateWrite struct {
	title       string
	requirement string
	do          func(ctx context.Context, w *wiring, name string) error
	since       func(w *wiring, name string)
}

var latePuts = []lateWrite{
	{"a Put", "L6.reconstruct", func(ctx context.Context, w *wiring, name string) error {
		_, err := w.location.Write(ctx, write(nil, put(spi.Key(name), oldBytes)))
		return err
	}, putSince},
	{"a Delete", "L6.reconstruct", func(ctx context.Context, w *wiring, name string) error {
		_, err := w.location.Write(ctx, write(nil, del(spi.Key(name))))
		return err
	}, putSince},
}

func putSince(w *wiring, name string) { w.sideLocation.MustPut(spi.Key(name), []byte(newBytes), nil) }

var lateDeletes = []lateWrite{
	{"a Delete of a payload", "R6.published", func(ctx context.Context, w *wiring, name string) error {
		return w.relocation.Delete(ctx, spi.Reference(name))
	}, func(w *wiring, name string) {
		w.sideRelocation.MustPut(spi.Reference(name), []byte(newBytes), spi.Retention(hour))
	}},
}

func writtenSince(w *wiring, b breakdown, l lateWrite) {
	name := fmt.Sprintf("%s %s", l.title, b.title)
	look := w.lookAt(name)
	w.warm()
	l.since(w, name) // so that it is there before, too
	b.begin(w.proxy)
	var err error
	if !w.bounded(w.kind.timeout, name, failingTimeout+endLimit, func() { err = l.do(w.t.Context(), w, name) }) {
		return
	}
	l.since(w, name)
	want := look()
	w.heal()
	w.works("after " + name)
	w.t.Pause(500 * time.Millisecond) // for what goes on in the background
	w.works("after " + name)
	if now := look(); !now.same(want) {
		w.t.Failf(l.requirement, "%s ended with %v; then %s by another write, but later %s", name, err, want, now)
	}
}

// guessedCases: the same bytes under the name do not say whose write it was.
func guessedCases() []harness.Case {
	return eachKind("unknown/same-bytes",
		"A write of a %s that did not reach Redis claims no success because somebody else has written the same bytes.",
		func(k *kind) string { return k.unknown + " " + k.class + " " + k.recover }, sameBytes)
}

// sameBytes writes the bytes of the operation beside it, while it does not get
// on after a lost connection.
func sameBytes(t *harness.T, k *kind) {
	for _, op := range operationsOf(k) {
		switch op.slug {
		case "location-put", "location-create", "location-cas", "relocation-put":
		default:
			continue
		}
		w := open(t, k, 0)
		for _, n := range each(w.commands(op)) {
			name := w.name(op)
			a := op.prepare(w, name)
			fault := w.proxy.Arm(redisenv.Match{}.Number(n), redisenv.Cut())
			next := w.proxy.Arm(redisenv.Match{}.Number(n+1), redisenv.Hold())
			var o outcome
			var theirs any
			meanwhile(t, func() { o = a.run(t.Context()) }, func(ended <-chan struct{}) {
				defer next.Release()
				select {
				case <-fault.Fired():
				case <-ended:
				}
				theirs = w.sameWrite(name)
			})
			w.disarm()
			what := fmt.Sprintf("%s that lost its connection before command %d", op.title, n)
			if o.err != nil {
				t.ErrorKind(k.class, what, o.err, spi.KindStoreFailure, spi.KindTimeout)
			} else if claimsTheirs(o.answer, theirs) {
				t.Failf(k.unknown, "%s, while another instance wrote the same bytes, answered %s, and so did the other write: %s",
					what, harness.Describe(o.answer), harness.Describe(theirs))
			}
			w.works("after it lost its connection")
		}
	}
}

// sameWrite writes the bytes of the operations by the other instance.
func (w *wiring) sameWrite(name string) any {
	if w.kind == &location {
		return w.sideLocation.MustWrite(write(nil, put(spi.Key(name), newBytes)))
	}
	return w.sideRelocation.MustPut(spi.Reference(name), []byte(newBytes), spi.Retention(hour))
}

// claimsTheirs says that an answer claims as its own what another write did: no
// two writes issue one version, nor are two Puts of a payload both Stored.
func claimsTheirs(answer, theirs any) bool {
	if a, ok := answer.(spi.Applied); ok {
		b, ok := theirs.(spi.Applied)
		return ok && len(a.PutVersions) == 1 && len(b.PutVersions) == 1 && a.PutVersions[0] == b.PutVersions[0]
	}
	_, mine := answer.(spi.Stored)
	_, others := theirs.(spi.Stored)
	return mine && others
}
