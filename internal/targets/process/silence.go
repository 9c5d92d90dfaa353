package process

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

const (
	silentAfter       = 5 * time.Second // an operation given up sooner says nothing about the target
	maxSilent         = 3               // silent operations in a row
	maxSilentRestarts = 2
)

// silence counts the operations that a process left unanswered until they were
// given up. A process that answers nothing is started again, as after a crash;
// a store that answers nothing while the other one does is lost.
type silence struct {
	spare bool // the process is no loss: others can do without it

	mu       sync.Mutex
	of       map[string]silentStore
	answered map[string]time.Time // the last answer of each store
	restarts int                  // since the last answer
}

// silentStore is a row of silent operations.
type silentStore struct {
	row   int
	since time.Time // when the first of them began
}

func newSilence() *silence {
	return &silence{of: map[string]silentStore{}, answered: map[string]time.Time{}}
}

// note takes what came of an operation on a store of the child, and returns the
// error to report for it. restart says that the child is to be stopped, so that
// another is started.
func (s *silence) note(c *child, store string, started time.Time, err error) (restart bool, report error) {
	var trouble *targets.TroubleError
	isTrouble := errors.As(err, &trouble)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !isTrouble:
		s.answered[store] = time.Now()
		delete(s.of, store)
		s.restarts = 0
		return false, err
	case c.silenced.Load() || !trouble.Unanswered || time.Since(started) < silentAfter:
		return false, err
	}
	now := s.of[store]
	if now.row == 0 {
		now.since = started
	}
	now.row++
	s.of[store] = now
	if now.row < maxSilent {
		return false, err
	}
	for other, at := range s.answered {
		if other != store && at.After(now.since) {
			e := targets.Troublef("the target kept silent at its %s store: %d operations in a row had no answer, "+
				"while its %s store gave some",
				store, now.row, other)
			e.Log = trouble.Log
			s.lose(e, store)
			return false, e
		}
	}
	clear(s.of)
	again := ""
	if s.restarts == maxSilentRestarts {
		again = fmt.Sprintf(", also after %d restarts", s.restarts)
	}
	e := targets.Troublef("the target kept silent: %d operations in a row had no answer, the last one within %s%s",
		now.row, time.Since(started).Round(time.Second), again)
	e.Log = trouble.Log
	if again != "" {
		s.lose(e, targets.LostTarget)
		return false, e
	}
	s.restarts++
	c.silenced.Store(true)
	return true, e
}

func (s *silence) lose(e *targets.TroubleError, what string) {
	if !s.spare {
		e.Lost = what
	}
}
