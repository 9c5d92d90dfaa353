package mutants

import "sync"

// counts are numbers by key, for mutants that remember; safe for concurrent use.
type counts[K comparable] struct {
	mu sync.Mutex
	n  map[K]int
}

func newCounts[K comparable]() *counts[K] { return &counts[K]{n: map[K]int{}} }

func (c *counts[K]) get(k K) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[k]
}

func (c *counts[K]) set(k K, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[k] = n
}
