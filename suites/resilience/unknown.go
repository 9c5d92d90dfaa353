package resilience

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
)

// loss is a way to lose the answer to a command.
type loss struct {
	slug, title string
	executed    bool // Redis has executed the command
	action      func() redisenv.Action
}

var losses = []loss{
	{"cut-before", "lost its connection before %s", false, redisenv.Cut},
	{"reply-dropped", "lost the reply to %s", true, redisenv.DropReply},
	{"cut-in-reply", "got a part of the reply to %s", true, func() redisenv.Action { return redisenv.CutInReply(3) }},
}

// unknownCases: loss x operation. The operation fails, or answers something
// that is true although a reply was lost, such as a read that was asked again;
// a write takes effect once at most.
func unknownCases() []harness.Case {
	var cases []harness.Case
	for _, l := range losses {
		for _, op := range operations {
			title := fmt.Sprintf("%s that %s fails or tells the truth, and what happened can be found out.", upper(op.title),
				fmt.Sprintf(l.title, "a command"))
			cases = append(cases, op.kind.newCase("unknown/"+l.slug+"-"+op.slug, title,
				lossRequirements(l, op), func(t *harness.T) {
					w := open(t, op.kind, 0)
					for _, n := range each(w.commands(op)) {
						lose(w, l, op, n)
					}
				}))
		}
	}
	return cases
}

// lossRequirements: a Delete that succeeded although its reply was lost has told
// the truth if the command had taken effect, so that what is left to judge is
// that the instance works on.
func lossRequirements(l loss, op operation) string {
	k := op.kind
	if op.slug == "relocation-delete" && l.executed {
		return strings.Join([]string{k.recover, k.unknown, k.class, op.rule}, " ")
	}
	return strings.Join([]string{k.unknown, k.reconstruct, k.recover, k.class, op.rule}, " ")
}

// lose runs the operation and loses the answer to its n-th command. Whatever
// the client sends afterwards is held until it is known what the n-th command
// did, so that a second effect can be told from the first.
func lose(w *wiring, l loss, op operation, n int) {
	mishap := fmt.Sprintf(l.title, fmt.Sprint("command ", n))
	what := op.title + " that " + mishap
	a := op.prepare(w, w.name(op))
	before := a.look()
	fault := w.proxy.Arm(redisenv.Match{}.Number(n), l.action())
	next := w.proxy.Arm(redisenv.Match{}.Number(n+1), redisenv.Hold())
	var o outcome
	var landed state
	meanwhile(w.t, func() { o = a.run(w.t.Context()) }, func(ended <-chan struct{}) {
		defer next.Release()
		select {
		case <-fault.Fired():
		case <-ended:
		}
		landed = a.look()
	})
	w.disarm()
	w.failed(what, a, o)
	after := a.look()
	if op.once && landed != before {
		w.t.Checkf(after == landed, w.kind.unknown, "%s was applied twice: after the lost reply %s, and in the end %s", what,
			landed, after)
	}
	w.works("after it " + mishap)
	if a.again != nil {
		a.again(after)
	}
}

func upper(s string) string { return string(s[0]-'a'+'A') + s[1:] }
