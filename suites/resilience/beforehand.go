package resilience

import (
	"context"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// beforehandCases: no operation starts under a cancelled token, one that goes on
// with a scan as little as any other.
func beforehandCases() []harness.Case {
	before := func(k *kind) string {
		if k == &location {
			return "L6.cancel-before"
		}
		return "R5.cancel-before"
	}
	return eachKind("cancel/beforehand",
		"Every operation of a %s whose token was cancelled beforehand sends nothing and changes nothing.",
		func(k *kind) string { return before(k) + " " + k.recover },
		func(t *harness.T, k *kind) {
			for _, op := range operationsOf(k) {
				w := open(t, k, 0)
				w.warm()
				a := op.prepare(w, w.name(op))
				was := a.look()
				token, cancel := context.WithCancel(t.Context())
				cancel()
				mark := w.proxy.Mark()
				o := a.run(token)
				sent := w.proxy.CommandsSince(mark)
				what := op.title + " that was cancelled beforehand"
				t.ErrorKind(before(k), what, o.err, spi.KindCancelled)
				t.Checkf(len(sent) == 0, before(k), "%s sent %d commands to Redis", what, len(sent))
				now := a.look()
				t.Checkf(now.same(was), before(k), "%s took effect: before it %s, and after it %s", what, was, now)
			}
		}, targets.CapCancellation)
}
