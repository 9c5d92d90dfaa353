package harness

import (
	"math/rand/v2"
	"slices"
	"sync"
)

// queue hands out the cases, by index, in an order drawn from the seed, so
// that a hidden dependence between them shows. Slow cases come first. Heavy
// ones are handed to one lane alone, which makes them run one at a time
// without another lane waiting for it.
type queue struct {
	mu            sync.Mutex
	heavy, others []int
}

func newQueue(cases []Case, seed int64) *queue {
	q := &queue{}
	for _, i := range rand.New(rand.NewPCG(uint64(seed), 0)).Perm(len(cases)) {
		if cases[i].Heavy {
			q.heavy = append(q.heavy, i)
		} else {
			q.others = append(q.others, i)
		}
	}
	slices.SortStableFunc(q.others, func(a, b int) int {
		switch {
		case cases[a].Slow == cases[b].Slow:
			return 0
		case cases[a].Slow:
			return -1
		}
		return 1
	})
	return q
}

// next hands out a case; false says that there is none left for this lane.
func (q *queue) next(heavyLane bool) (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	from := &q.others
	if heavyLane && len(q.heavy) > 0 {
		from = &q.heavy
	}
	if len(*from) == 0 {
		return 0, false
	}
	i := (*from)[0]
	*from = (*from)[1:]
	return i, true
}
