package countercases

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
)

// contentionCases: many issuers of one counter (L8.contention).
func contentionCases() []harness.Case {
	return []harness.Case{
		locationCase("contention/target", "Instances of the target that issue at the same time never issue a value "+
			"twice and leave no gap.",
			"L8.contention", func(t *harness.T) { contend(t, targets(t), targets(t), targets(t)) }),
		locationCase("contention/with-reference",
			"Instances of the target and of the reference that issue at the same time never issue a value "+
				"twice and leave no gap.",
			"L8.contention", func(t *harness.T) { contend(t, references(t), targets(t), targets(t), references(t)) },
			harness.NeedLayout),
	}
}

// contend lets the instances issue, in blocks of 1 to 3 values and two issuers
// each, so that the values would not agree by chance.
func contend(t *harness.T, instances ...issuer) {
	const total = 8 * 25
	issuers := slices.Concat(instances, instances)
	each := total / len(issuers)
	var (
		mu     sync.Mutex
		issued []counter.Block
	)
	t.Concurrently(len(issuers), func(i int) {
		for k := range each {
			b := issueAmong(issuers[i], int64(1+(i+k)%3), total)
			mu.Lock()
			issued = append(issued, b)
			mu.Unlock()
		}
	})
	slices.SortFunc(issued, func(a, b counter.Block) int { return int(a.First - b.First) })
	next := int64(1)
	for _, b := range issued {
		switch {
		case b.First < next:
			t.Fatalf("L8.contention", "the value %d was issued twice", b.First)
		case b.First > next:
			t.Fatalf("L8.contention", "the values %d to %d were left out, although each conflict was tried again", next,
				b.First-1)
		}
		next = b.Last + 1
	}
	stores(t, "L8.contention", counter.Object, fmt.Sprint(next))
}

// issueAmong tries until it issues. Each attempt in vain was overtaken by
// another issuer's block, and there are fewer than total of those.
func issueAmong(i issuer, n int64, total int) counter.Block {
	for tried := counter.MaxAttempts; ; tried += counter.MaxAttempts {
		b, err := i.issue(counter.Object, n, nil)
		switch {
		case err == nil:
			return b
		case !errors.Is(err, counter.ErrContention):
			i.fail("L8.contention", err, "issuing beside others")
		case tried >= total:
			i.t.Fatalf("L8.contention", "%s conflicted %d times, but the others issue no more than %d times", i.name, tried,
				total)
		}
	}
}
