package resilience

import (
	"fmt"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/spi"
)

const (
	phasedTimeout = 600 * time.Millisecond
	phaseDelay    = phasedTimeout * 17 / 20 // within the timeout, and two of them far beyond it
)

// phases are two parts of an operation, one after the other.
type phases struct {
	slug, title   string
	first, second redisenv.Match
	warm          bool // on an instance that has done the same before
}

// setUp is the one command that each client must send on each connection to a
// database of another number.
var setUp = redisenv.Match{Commands: []string{"SELECT"}, Handshake: true}

var phasePairs = []phases{
	{"set-up-and-command", "setting up the connection and the first command", setUp, redisenv.Match{}.Number(1), false},
	{"set-up-and-second-command", "setting up the connection and the second command", setUp, redisenv.Match{}.Number(2), false},
	{"connect-and-script", "connecting and the command after the one that misses a script",
		redisenv.Connecting(), redisenv.Match{}.Number(2), false},
	{"two-commands", "the first two commands of a new instance", redisenv.Match{}.Number(1), redisenv.Match{}.Number(2), false},
	{"round-trips", "the first two commands of an instance that has worked",
		redisenv.Match{}.Number(1), redisenv.Match{}.Number(2), true},
}

// phaseCases: the timeout bounds the whole of each operation.
func phaseCases() []harness.Case {
	var cases []harness.Case
	for _, p := range phasePairs {
		cases = append(cases, eachKind("timeout/"+p.slug,
			"The operation timeout of a %s bounds every operation as a whole: "+p.title+" may not take 85 % of it each.",
			func(k *kind) string { return k.timeout + " " + k.recover },
			func(t *harness.T, k *kind) {
				s := t.Server(redisenv.ServerOptions{})
				ops := coldOperations(k)
				if p.warm {
					ops = operationsOf(k)
				}
				t.Concurrently(len(ops), func(i int) { inPhases(t, openDatabase(t, k, s, phasedTimeout), s, p, ops[i]) })
			})...)
	}
	return cases
}

// inPhases delays both parts. Redis forgets its scripts before, so that a new
// instance has them to send, on a server of its own.
func inPhases(t *harness.T, w *wiring, s *redisenv.Server, p phases, op operation) {
	k := w.kind
	if p.warm {
		w.doesAll("on a Redis that answers")
	}
	a := op.prepare(w, w.name(op))
	if !p.warm {
		if err := t.Client(s).ScriptFlush(t.Context()).Err(); err != nil {
			t.Troublef("SCRIPT FLUSH failed: %v", err)
		}
	}
	first, second := w.proxy.Arm(p.first, redisenv.Delay(phaseDelay)), w.proxy.Arm(p.second, redisenv.Delay(phaseDelay))
	what := fmt.Sprintf("%s with an operation timeout of %v, while %s are delayed by %v each,",
		op.title, phasedTimeout, p.title, phaseDelay)
	var o outcome
	start := time.Now()
	inTime := w.bounded(k.timeout, what, phasedTimeout+endLimit, func() { o = a.run(t.Context()) })
	took := time.Since(start)
	switch {
	case !inTime:
	case o.err != nil:
		t.ErrorKind(k.timeout, what, o.err, spi.KindTimeout)
	case met(first) && met(second) && took >= 2*phaseDelay: // not side by side
		t.Failf(k.timeout, "%s succeeded after %v", what, took)
	}
}

func met(f *redisenv.Fault) bool {
	select {
	case <-f.Fired():
		return true
	default:
		return false
	}
}
