package counter_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Several issuers on a real Redis leave no gap and issue nothing twice
// (L8.contention).
func TestIssueOnRedis(t *testing.T) {
	const issuers, each, block = 4, 25, 3
	options := redistest.Start(t)
	var (
		mu     sync.Mutex
		issued []int64
		group  sync.WaitGroup
	)
	for range issuers {
		store, err := reference.OpenLocation(reference.Options{Redis: options, KeyPrefix: "counter"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		group.Go(func() {
			for done := 0; done < each; {
				b, err := counter.Issue(context.Background(), store, counter.Object, block, nil)
				if errors.Is(err, counter.ErrContention) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				done++
				mu.Lock()
				for v := b.First; v <= b.Last; v++ {
					issued = append(issued, v)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(issued)
	if len(issued) != issuers*each*block {
		t.Fatalf("%d values issued, want %d", len(issued), issuers*each*block)
	}
	for i, v := range issued {
		if v != int64(i+1) {
			t.Fatalf("value %d at place %d: issued twice or left out", v, i+1)
		}
	}

	store, err := reference.OpenLocation(reference.Options{Redis: options, KeyPrefix: "counter"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	row, err := store.Read(context.Background(), counter.Object)
	if found, ok := row.(spi.Found); err != nil || !ok || string(found.Value.Bytes) != "301" {
		t.Errorf("the row is %v, %v; want 301", row, err)
	}
}
