package harness

import (
	"context"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// skewedTargets are the run's target under other host clocks: each is started
// once, by the first case that asks for it.
type skewedTargets struct {
	start func(offset time.Duration) (targets.Target, error)

	mu      sync.Mutex
	started map[time.Duration]func() (targets.Target, error)
}

// newSkewedTargets starts its targets under the context, which is the run's: a
// case that is given up while it waits takes nothing from those behind it.
func newSkewedTargets(ctx context.Context, target targets.Target) *skewedTargets {
	return &skewedTargets{
		started: map[time.Duration]func() (targets.Target, error){},
		start: func(offset time.Duration) (targets.Target, error) {
			s, ok := target.(targets.Skewer)
			if !ok {
				return nil, &redisenv.Unavailable{Reason: "the target's host clock can't be moved"}
			}
			return s.Skewed(ctx, offset)
		},
	}
}

// at returns the target whose host clock runs offset ahead.
func (s *skewedTargets) at(offset time.Duration) (targets.Target, error) {
	s.mu.Lock()
	once, ok := s.started[offset]
	if !ok {
		once = sync.OnceValues(func() (targets.Target, error) { return s.start(offset) })
		s.started[offset] = once
	}
	s.mu.Unlock()
	return once()
}

// close ends all that was started. No case may be running any more.
func (s *skewedTargets) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, once := range s.started {
		if t, err := once(); err == nil {
			t.Close()
		}
	}
}
