package countercases

import (
	"errors"
	"slices"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// exhaustedCases: the end of the numbers (L8.exhausted).
func exhaustedCases() []harness.Case {
	return []harness.Case{
		locationCase("exhausted/again", "A counter that stores 2^63-1 is exhausted every time, and neither it "+
			"nor the record changes.",
			"L8.exhausted", exhaustedAgain),
		locationCase("exhausted/highest", "2^63-2 is issued and stores 2^63-1, after which nothing is issued.",
			"L8.exhausted", exhaustedHighest),
		locationCase("exhausted/block", "A block that would run past 2^63-2 is refused whole, and one that just fits is issued.",
			"L8.exhausted L8.block", exhaustedBlock),
		locationCase("exhausted/race", "Of issuers that race for the last values each value goes to one, and the others "+
			"meet GenerationExhausted.",
			"L8.exhausted L8.contention", exhaustedRace),
	}
}

func exhaustedAgain(t *harness.T) {
	one, other := targets(t), targets(t)
	for _, key := range counters() {
		before := plant(t, key, maxStored)
		for _, i := range []issuer{one, other, one} {
			i.exhausted(key, 1, maxStored, recordGate("record"))
		}
		unchanged(t, "L8.exhausted", key, before)
	}
	t.Location().MustMiss("record")
}

func exhaustedHighest(t *harness.T) {
	plant(t, counter.Object, maxIssued)
	i := targets(t)
	i.must("L8.exhausted", counter.Object, 1, 1<<63-2, nil)
	before := stores(t, "L8.exhausted", counter.Object, maxStored)
	i.exhausted(counter.Object, 1, maxStored, nil)
	unchanged(t, "L8.exhausted", counter.Object, before)
}

func exhaustedBlock(t *harness.T) {
	const stored, left = "9223372036854775798", 9
	i, before := targets(t), plant(t, counter.Owner, stored)
	for _, n := range []int64{left + 1, 1000, 1<<63 - 1} {
		i.exhausted(counter.Owner, n, stored, recordGate("record"))
		unchanged(t, "L8.exhausted", counter.Owner, before)
	}
	t.Location().MustMiss("record")
	i.must("L8.exhausted", counter.Owner, left, 1<<63-10, nil)
	stores(t, "L8.exhausted", counter.Owner, maxStored)
}

func exhaustedRace(t *harness.T) {
	plant(t, counter.Object, "9223372036854775804")
	last := []int64{1<<63 - 4, 1<<63 - 3, 1<<63 - 2}
	var (
		mu        sync.Mutex
		issued    []int64
		exhausted int
	)
	one, other := targets(t), targets(t)
	issuers := []issuer{one, other, one, other, one, other}
	t.Concurrently(len(issuers), func(i int) {
		b, err := issuers[i].issue(counter.Object, 1, nil)
		var e *counter.GenerationExhausted
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			issued = append(issued, b.First)
		case errors.As(err, &e):
			exhausted++
		default:
			issuers[i].fail("L8.contention", err, "issuing one of the last values")
		}
	})
	slices.Sort(issued)
	t.Equal("L8.exhausted", "the issued values", last, issued)
	t.Checkf(exhausted == len(issuers)-len(last), "L8.exhausted", "%d issuers met GenerationExhausted, expected %d", exhausted,
		len(issuers)-len(last))
	stores(t, "L8.exhausted", counter.Object, maxStored)
}

// recordGate puts a record without a condition.
func recordGate(record spi.Key) counter.Gate {
	return func(counter.Block) ([]spi.Condition, []spi.Mutation) {
		return nil, []spi.Mutation{put(record, "r")}
	}
}
