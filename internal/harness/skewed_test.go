package harness

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// startedTarget is a target that counts how often it is started under another
// clock and closed.
type startedTarget struct {
	targets.Target
	starts, closes *atomic.Int32
}

func (s startedTarget) Skewed(context.Context, time.Duration) (targets.Target, error) {
	time.Sleep(20 * time.Millisecond) // so that all who ask wait for one start
	s.starts.Add(1)
	return s, nil
}

func (s startedTarget) Close() error {
	s.closes.Add(1)
	return nil
}

func TestSkewedTargetsStartOnceForEachClock(t *testing.T) {
	var starts, closes atomic.Int32
	s := newSkewedTargets(t.Context(), startedTarget{starts: &starts, closes: &closes})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if _, err := s.at([]time.Duration{time.Hour, -time.Hour}[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := starts.Load(); n != 2 {
		t.Errorf("two clocks took %d starts", n)
	}
	s.close()
	if n := closes.Load(); n != 2 {
		t.Errorf("%d of two targets were closed", n)
	}
}

func TestATargetWithoutAMovableClockIsSkipped(t *testing.T) {
	if _, err := newSkewedTargets(t.Context(), nil).at(time.Hour); err == nil {
		t.Error("a target whose clock can't be moved was started under another")
	} else if _, ok := unavailable(err); !ok {
		t.Errorf("a target whose clock can't be moved is no reason to skip: %v", err)
	}
}
