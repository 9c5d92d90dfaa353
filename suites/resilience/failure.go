package resilience

import (
	"fmt"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// failingTimeout is the operation timeout where an operation can't succeed:
// clients that try again do so until then.
const failingTimeout = 400 * time.Millisecond

// breakdown is a fault that lasts until it is healed.
type breakdown struct {
	slug, title string
	begin       func(*redisenv.Proxy)
	connect     bool // it meets new connections, so a first one too
	silent      bool // nothing ever answers: the operation timeout must end it
}

func answering(slug, text string) breakdown {
	return breakdown{slug: slug, title: "while Redis answers " + text[:len(slug)],
		begin: func(p *redisenv.Proxy) { p.Arm(redisenv.Match{}, redisenv.Answer(text)) }}
}

var breakdowns = []breakdown{
	{slug: "refused", title: "while connections are refused", connect: true, begin: func(p *redisenv.Proxy) {
		p.Refuse()
		p.CutAll()
	}},
	{slug: "reset", title: "while connections are reset", connect: true, begin: func(p *redisenv.Proxy) {
		p.Arm(redisenv.Connecting(), redisenv.Cut())
		p.CutAll()
	}},
	{slug: "reset-at-command", title: "while every command resets its connection", begin: func(p *redisenv.Proxy) {
		p.Arm(redisenv.Match{}, redisenv.Cut())
	}},
	{slug: "silent", title: "while Redis is silent", silent: true, begin: func(p *redisenv.Proxy) {
		p.Arm(redisenv.Match{}, redisenv.Swallow())
	}},
	{slug: "silent-at-connect", title: "while new connections are silent", connect: true, begin: func(p *redisenv.Proxy) {
		p.Arm(redisenv.Connecting(), redisenv.Swallow())
		p.CutAll()
	}},
	answering("OOM", "OOM command not allowed when used memory > 'maxmemory'."),
	answering("READONLY", "READONLY You can't write against a read only replica."),
	answering("BUSY", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
	answering("NOREPLICAS", "NOREPLICAS Not enough good replicas to write."),
	answering("LOADING", "LOADING Redis is loading the dataset in memory"),
	answering("MASTERDOWN", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
	answering("MISCONF", "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."),
	answering("CLUSTERDOWN", "CLUSTERDOWN The cluster is down"),
	answering("NOPERM", "NOPERM this user has no permissions to run this command"),
	answering("ERR", "ERR something went wrong"),
}

// failureCases: breakdown x operation. Each operation of a store ends as a
// store failure or timeout, and the same instance works again afterwards.
func failureCases() []harness.Case {
	var cases []harness.Case
	for _, b := range breakdowns {
		cases = append(cases, eachKind("failure/"+strings.ToLower(b.slug),
			"Every operation of a %s "+b.title+" ends as a store failure or timeout, and works again afterwards.",
			func(k *kind) string {
				main := k.class
				if b.silent {
					main = k.timeout + " " + k.class
				}
				return main + " " + k.unknown + " " + k.recover
			},
			func(t *harness.T, k *kind) {
				ops := operationsOf(k)
				t.Concurrently(len(ops), func(i int) { breakDown(open(t, k, failingTimeout), b, ops[i]) })
			})...)
	}
	return append(cases, unreachableCases()...)
}

func breakDown(w *wiring, b breakdown, op operation) {
	what := op.title + " " + b.title
	w.warm()
	a := op.prepare(w, w.name(op))
	b.begin(w.proxy)
	var o outcome
	inTime := w.bounded(w.kind.timeout, fmt.Sprintf("%s with an operation timeout of %v", what, failingTimeout),
		failingTimeout+endLimit,
		func() { o = a.run(w.t.Context()) })
	w.heal()
	if !inTime {
		w.works("after " + what)
		return
	}
	if o.err != nil && b.silent {
		w.t.ErrorKind(w.kind.class, what, o.err, spi.KindStoreFailure, spi.KindTimeout)
		w.t.Checkf(spi.KindOf(o.err) != spi.KindStoreFailure, w.kind.timeout,
			"%s ended with %v, expected an error of kind timeout", what, o.err)
	} else {
		w.failed(what, a, o)
	}
	w.works("after " + what)
}

// unreachableCases: a server that the store can't use at all, from the start.
func unreachableCases() []harness.Case {
	requirements := func(k *kind) string { return k.class + " " + k.unknown }
	return append(
		eachKind("failure/wrong-password", "Every operation of a %s with a wrong password is a store failure.", requirements,
			func(t *harness.T, k *kind) {
				conn := t.Server(redisenv.ServerOptions{Password: "right"}).ConnInfo()
				conn.Password = "wrong"
				unreachable(t, k, "with a wrong password", rewritten(conn))
			}),
		eachKind("failure/no-tls", "Every operation of a %s that speaks plain TCP to a TLS server is a store failure or timeout.",
			requirements,
			func(t *harness.T, k *kind) {
				conn := t.Server(redisenv.ServerOptions{TLS: true}).ConnInfo()
				conn.TLS, conn.CAFile = false, ""
				unreachable(t, k, "in plain TCP on a TLS server", rewritten(conn))
			})...)
}

// unreachable opens a store where it can't work. To fail at once is as good as
// to fail in each operation.
func unreachable(t *harness.T, k *kind, how string, conn redisenv.ConnInfo) {
	store := harness.Store{Conn: &conn, Timeout: failingTimeout}
	w := &wiring{t: t, kind: k}
	var err error
	if k == &location {
		w.location, err = t.Target().TryOpenLocation(store)
	} else {
		w.relocation, err = t.Target().TryOpenRelocation(store)
	}
	if err != nil {
		t.ErrorKind(k.class, "opening a "+k.title+" "+how, err, spi.KindStoreFailure, spi.KindTimeout)
		return
	}
	for what, do := range w.blind() {
		answer, err := do()
		if err == nil {
			t.Failf(k.unknown, "%s %s answered %s", what, how, harness.Describe(answer))
		} else {
			t.ErrorKind(k.class, what+" "+how, err, spi.KindStoreFailure, spi.KindTimeout)
		}
	}
}

// blind are operations that need nothing to be there.
func (w *wiring) blind() map[string]func() (any, error) {
	ctx := w.t.Context()
	if w.kind == &location {
		return map[string]func() (any, error){
			"a Read": func() (any, error) { return w.location.Read(ctx, "k") },
			"a Put":  func() (any, error) { return w.location.Write(ctx, write(nil, put("k", "v"))) },
			"a Put if missing": func() (any, error) {
				return w.location.Write(ctx, write(given(ifMissing("k")), put("k", "v")))
			},
			"a Scan": func() (any, error) { return w.location.Scan(ctx, spi.ScanRequest{Limit: 1}) },
		}
	}
	return map[string]func() (any, error){
		"a Put":    func() (any, error) { return w.relocation.Put(ctx, "r", []byte("v"), spi.Retention(hour)) },
		"a Read":   func() (any, error) { return w.relocation.Read(ctx, "r") },
		"a Renew":  func() (any, error) { return w.relocation.Renew(ctx, "r", spi.Retention(hour)) },
		"a Delete": func() (any, error) { return "deleted", w.relocation.Delete(ctx, "r") },
	}
}
