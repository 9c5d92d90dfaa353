package mutants

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

func nearDuplicates(w spi.WriteRequest) (spi.WriteRequest, error) {
	seen := map[string]bool{}
	for _, m := range w.Mutations {
		folded := strings.ToLower(strings.TrimSpace(string(m.MutationKey())))
		if seen[folded] {
			return w, spi.Argument("key %q stands twice", m.MutationKey())
		}
		seen[folded] = true
	}
	return w, nil
}

// backlogLimit refuses to write a key more than 200 times within a second.
func backlogLimit(l *location) {
	var mu sync.Mutex
	written := map[spi.Key][]time.Time{}
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		mu.Lock()
		full := false
		for _, m := range w.Mutations {
			times := append(written[m.MutationKey()], time.Now())
			for time.Since(times[0]) > time.Second {
				times = times[1:]
			}
			written[m.MutationKey()] = times
			full = full || len(times) > 200
		}
		mu.Unlock()
		if full {
			return nil, failure("the backlog of the key is full")
		}
		return l.LocationStore.Write(ctx, w)
	}
}
