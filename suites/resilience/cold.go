package resilience

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
)

// coldCases: failures that are the first thing which a store meets. Whatever it
// makes once and keeps, such as a connection, a loaded script or what it knows
// of the server, is then made of a failure.
func coldCases() []harness.Case {
	requirements := func(k *kind) string { return strings.Join([]string{k.recover, k.class, k.unknown, k.timeout}, " ") }
	var cases []harness.Case
	for _, b := range breakdowns {
		cases = append(cases, eachKind("cold/"+strings.ToLower(b.slug),
			"A %s whose first operation came "+b.title+" fails it, whichever it is, and does all its work afterwards.",
			requirements,
			func(t *harness.T, k *kind) {
				ops := coldOperations(k)
				t.Concurrently(len(ops), func(i int) { coldBreakdown(open(t, k, failingTimeout), b, ops[i]) })
			})...)
	}
	for _, f := range firstFailures {
		cases = append(cases, eachKind("cold/first-"+strings.ToLower(f.slug),
			"A %s of which one of the first commands "+f.title+" claims nothing untrue, and does all its work afterwards.",
			requirements,
			func(t *harness.T, k *kind) {
				ops := coldOperations(k)
				t.Concurrently(len(ops), func(i int) { firstCommands(t, k, f, ops[i]) })
			})...)
	}
	return cases
}

// coldOperations can be the first one of an instance: those that go on with a
// scan can't.
func coldOperations(k *kind) []operation {
	var cold []operation
	for _, op := range operationsOf(k) {
		if !op.follows {
			cold = append(cold, op)
		}
	}
	return cold
}

func coldBreakdown(w *wiring, b breakdown, op operation) {
	what := op.title + ", the first operation of its store, " + b.title
	a := op.prepare(w, w.name(op))
	b.begin(w.proxy)
	var o outcome
	inTime := w.bounded(w.kind.timeout, what, failingTimeout+endLimit, func() { o = a.run(w.t.Context()) })
	w.heal()
	if inTime {
		w.failed(what, a, o)
	}
	w.doesAll("after " + what)
}

// firstFailure is what a single one of the first commands meets.
type firstFailure struct {
	slug, title string
	match       redisenv.Match
	action      func() redisenv.Action
}

func answeredFirst(slug, text string) firstFailure {
	return firstFailure{slug, "is answered " + slug, redisenv.Match{}, func() redisenv.Action { return redisenv.Answer(text) }}
}

var firstFailures = []firstFailure{
	answeredFirst("OOM", "OOM command not allowed when used memory > 'maxmemory'."),
	answeredFirst("LOADING", "LOADING Redis is loading the dataset in memory"),
	answeredFirst("BUSY", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
	answeredFirst("NOSCRIPT", "NOSCRIPT No matching script. Please use EVAL."),
	answeredFirst("MISCONF", "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."),
	answeredFirst("READONLY", "READONLY You can't write against a read only replica."),
	// Here those by which a connection is set up count too.
	{"cut", "resets its connection", redisenv.Everything(), redisenv.Cut},
	{"reply-dropped", "loses its reply and the connection", redisenv.Everything(), redisenv.DropReply},
}

// firstCommands lets each of the first commands fail, on a new instance each.
func firstCommands(t *harness.T, k *kind, f firstFailure, op operation) {
	const most = 8
	for n := 1; n <= most; n++ {
		w := open(t, k, 0)
		what := fmt.Sprintf("%s, the first operation of its store, of which command %d %s,", op.title, n, f.title)
		a := op.prepare(w, fmt.Sprintf("%s-%s-%d", op.slug, f.slug, n))
		fault := w.proxy.Arm(f.match.Number(n), f.action())
		o := a.run(t.Context())
		w.disarm()
		w.failed(what, a, o)
		select {
		case <-fault.Fired():
			w.doesAll("after " + what)
		default:
			return // it sends fewer
		}
	}
}

// doesAll waits until every operation of the instance works again. Each attempt
// has a name of its own: one that failed may have taken effect.
func (w *wiring) doesAll(after string) {
	w.works(after)
	for _, op := range operationsOf(w.kind) {
		var a attempt
		var o outcome
		w.t.Await(w.kind.recover, op.title+" of the same instance "+after, recoverLimit, func() bool {
			a = op.prepare(w, w.name(op))
			o = a.run(w.t.Context())
			return o.err == nil
		})
		if lie := a.lie(o.answer, a.look()); lie != "" {
			w.t.Failf(w.kind.recover, "%s of the same instance %s answered %s, but %s", op.title, after,
				harness.Describe(o.answer), lie)
		}
	}
}
