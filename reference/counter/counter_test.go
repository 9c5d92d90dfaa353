package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
)

const (
	maxStored  = "9223372036854775807" // 2^63-1
	maxIssued  = "9223372036854775806" // 2^63-2
	beyondLast = "9223372036854775808" // 2^63
)

func TestIssue(t *testing.T) {
	tests := []struct {
		stored string // "" is a missing row
		n      int64
		first  int64
		last   int64
		next   string
	}{
		{"", 1, 1, 1, "2"},
		{"", 10, 1, 10, "11"},
		{"5", 1, 5, 5, "6"}, // the golden counter vectors
		{"7", 1, 7, 7, "8"},
		{"3", 1, 3, 3, "4"},
		{"5", 3, 5, 7, "8"},
		{maxIssued, 1, 1<<63 - 2, 1<<63 - 2, maxStored},
		{"9223372036854775800", 7, 1<<63 - 8, 1<<63 - 2, maxStored},
		{"", 1<<63 - 2, 1, 1<<63 - 2, maxStored},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s+%d", tt.stored, tt.n), func(t *testing.T) {
			store := newMemStore(nil)
			if tt.stored != "" {
				store = newMemStore(map[spi.Key]string{Owner: tt.stored})
			}
			got, err := Issue(context.Background(), store, Owner, tt.n, nil)
			if err != nil || got != (Block{tt.first, tt.last}) {
				t.Errorf("got %v, %v; want %d..%d", got, err, tt.first, tt.last)
			}
			if next := store.text(Owner); next != tt.next {
				t.Errorf("stored %q, want %q", next, tt.next)
			}
		})
	}
}

func TestExhausted(t *testing.T) {
	for _, tt := range []struct {
		stored string
		n      int64
	}{{maxStored, 1}, {maxStored, 1 << 62}, {maxIssued, 2}, {"9223372036854775800", 8}, {"", 1<<63 - 1}} {
		store := newMemStore(map[spi.Key]string{Object: tt.stored})
		if tt.stored == "" {
			store = newMemStore(nil)
		}
		for range 2 { // again and again
			_, err := Issue(context.Background(), store, Object, tt.n, nil)
			var exhausted *GenerationExhausted
			if !errors.As(err, &exhausted) || exhausted.Key != Object || exhausted.N != tt.n {
				t.Errorf("%s + %d: got %v, want GenerationExhausted", tt.stored, tt.n, err)
			}
		}
		if store.writes != 0 || store.text(Object) != tt.stored {
			t.Errorf("%s + %d: changed to %q in %d writes", tt.stored, tt.n, store.text(Object), store.writes)
		}
	}
}

func TestParse(t *testing.T) {
	for row, want := range map[string]int64{"1": 1, "42": 42, maxStored: 1<<63 - 1} {
		if got, ok := Parse([]byte(row)); !ok || got != want {
			t.Errorf("Parse(%q) = %d, %v", row, got, ok)
		}
	}
	for _, row := range []string{"", "0", "-1", "+1", "01", " 1", "1 ", "1\n", "1.0", "1e3", "0x1", "1_0", `"1"`, "١", beyondLast,
		"99999999999999999999"} {
		if got, ok := Parse([]byte(row)); ok {
			t.Errorf("Parse(%q) = %d, want a refusal", row, got)
		}
		if row == "" {
			continue
		}
		store := newMemStore(map[spi.Key]string{Owner: row})
		var corrupt *Corrupt
		if _, err := Issue(context.Background(), store, Owner, 1, nil); !errors.As(err, &corrupt) || store.writes != 0 {
			t.Errorf("Issue over %q: %v, want Corrupt without a write", row, err)
		}
	}
}

func TestGateInTheSameBatch(t *testing.T) {
	store := newMemStore(map[spi.Key]string{Owner: "5", "taken": "x"})
	gate := func(record spi.Key) Gate {
		return func(b Block) ([]spi.Condition, []spi.Mutation) {
			return []spi.Condition{spi.MissingCondition{Key: record}},
				[]spi.Mutation{spi.Put{Key: record, Bytes: fmt.Append(nil, b.First)}}
		}
	}
	if b, err := Issue(context.Background(), store, Owner, 1, gate("lease")); err != nil || b.First != 5 {
		t.Errorf("got %v, %v", b, err)
	}
	if store.text("lease") != "5" || store.text(Owner) != "6" || store.writes != 1 {
		t.Errorf("record %q, counter %q after %d writes; want 5, 6 after one", store.text("lease"), store.text(Owner),
			store.writes)
	}
	if _, err := Issue(context.Background(), store, Owner, 1, gate("taken")); !errors.Is(err, ErrGate) {
		t.Errorf("false gate: %v, want ErrGate", err)
	}
	if store.text("taken") != "x" || store.text(Owner) != "6" || store.writes != 2 {
		t.Errorf("false gate: record %q, counter %q after %d writes; want nothing changed and no retry", store.text("taken"),
			store.text(Owner), store.writes)
	}
}

func TestStoreErrorIsPassedOn(t *testing.T) {
	store := newMemStore(nil)
	store.fail = &spi.Error{Kind: spi.KindTimeout}
	if _, err := Issue(context.Background(), store, Owner, 1, nil); spi.KindOf(err) != spi.KindTimeout || store.writes != 1 {
		t.Errorf("got %v after %d writes, want the timeout after one", err, store.writes)
	}
	if _, err := Issue(context.Background(), store, Owner, 0, nil); spi.KindOf(err) != spi.KindArgument {
		t.Errorf("block of 0: %v, want an argument error", err)
	}
}

func TestContention(t *testing.T) {
	store := newMemStore(nil)
	store.before = func() { // somebody else always comes first
		store.mu.Lock()
		defer store.mu.Unlock()
		store.put(Owner, []byte("7"))
	}
	if _, err := Issue(context.Background(), store, Owner, 1, nil); !errors.Is(err, ErrContention) ||
		store.writes != MaxAttempts {
		t.Errorf("got %v after %d writes, want ErrContention after %d", err, store.writes, MaxAttempts)
	}

	store = newMemStore(nil)
	var (
		mu     sync.Mutex
		issued []int64
		group  sync.WaitGroup
	)
	for range 8 {
		group.Go(func() {
			for done := 0; done < 50; {
				b, err := Issue(context.Background(), store, Object, 2, nil)
				if errors.Is(err, ErrContention) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				done++
				mu.Lock()
				issued = append(issued, b.First, b.Last)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(issued)
	for i, v := range issued {
		if v != int64(i+1) {
			t.Fatalf("value %d at place %d: issued twice or left out", v, i+1)
		}
	}
	if store.text(Object) != "801" {
		t.Errorf("stored %q, want 801", store.text(Object))
	}
}
