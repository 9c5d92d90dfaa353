// Package counter issues generations over any Location Store: the number and
// the record that it gates change in one conditional batch (L8.same-batch).
package counter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// The logical keys of the three counters (L8.key).
const (
	Owner          spi.Key = "zlink:v11:owner-counter"           // issues OwnerLeaseGeneration
	Object         spi.Key = "zlink:v11:object-counter"          // issues ObjectGeneration
	AuthorityOwner spi.Key = "zlink:v11:authority-owner-counter" // issues AuthorityOwnerGeneration
)

const (
	// Exhausted is the stored value at which a counter issues nothing more.
	Exhausted = math.MaxInt64
	// MaxAttempts bounds how often Issue meets another issuer and tries again.
	MaxAttempts = 64
)

var (
	// ErrGate says that a condition of the gated record is false. Nothing was
	// issued.
	ErrGate = errors.New("a condition of the gated record is false")
	// ErrContention says that other issuers came first MaxAttempts times.
	// Nothing was issued.
	ErrContention = fmt.Errorf("other issuers came first in %d attempts; try again", MaxAttempts)
)

// GenerationExhausted says that a counter cannot issue N more values. Nothing
// was changed (L8.exhausted).
type GenerationExhausted struct {
	Key    spi.Key
	Stored int64
	N      int64
}

func (e *GenerationExhausted) Error() string {
	return fmt.Sprintf("counter %q is exhausted: it stores %d and cannot issue %d more", e.Key, e.Stored, e.N)
}

// Corrupt says that a counter's row holds no canonical decimal (L8.decimal).
type Corrupt struct {
	Key   spi.Key
	Bytes []byte
}

func (e *Corrupt) Error() string {
	return fmt.Sprintf("counter %q holds %.64q: want a canonical decimal of 1 to 2^63-1", e.Key, e.Bytes)
}

// Block is the values First to Last, both issued.
type Block struct{ First, Last int64 }

// Gate returns the conditions and mutations of the record that the issued
// values go into. It is called once for each attempt and must not name the
// counter's key. A nil Gate issues values for no record.
type Gate func(Block) ([]spi.Condition, []spi.Mutation)

// Parse reads a counter's row: bare canonical decimal, 1..2^63-1.
func Parse(row []byte) (value int64, ok bool) {
	n, err := strconv.ParseInt(string(row), 10, 64)
	return n, err == nil && n >= 1 && strconv.FormatInt(n, 10) == string(row)
}

// Issue issues n values (at least 1) of the counter and writes the gated record
// in the same batch. Its error is an argument error, a *GenerationExhausted, a
// *Corrupt, ErrGate, ErrContention, or the store's own; after the last one the
// outcome may be unknown (L6.unknown-outcome).
func Issue(ctx context.Context, store spi.LocationStore, key spi.Key, n int64, gate Gate) (Block, error) {
	if n < 1 {
		return Block{}, spi.Argument("a block has %d values: it must have at least 1", n)
	}
	row, err := read(ctx, store, key)
	for attempt := 0; err == nil && attempt < MaxAttempts; attempt++ {
		if n > Exhausted-row.next {
			return Block{}, &GenerationExhausted{Key: key, Stored: row.next, N: n}
		}
		block := Block{First: row.next, Last: row.next + n - 1}
		result, err := store.Write(ctx, request(key, row, block, gate))
		if err != nil {
			return Block{}, err
		}
		if _, ok := result.(spi.Applied); ok {
			return block, nil
		}
		// A conflict does not say which condition was false, the counter's
		// version does: unchanged, it cannot have been the counter's.
		before := row
		row, err = read(ctx, store, key)
		if err != nil {
			return Block{}, err
		}
		if row == before {
			return Block{}, ErrGate
		}
	}
	if err != nil {
		return Block{}, err
	}
	return Block{}, ErrContention
}

// row is a counter as it was read.
type row struct {
	next    int64       // the value to be issued next
	version spi.Version // "" if the row is missing
}

func read(ctx context.Context, store spi.LocationStore, key spi.Key) (row, error) {
	result, err := store.Read(ctx, key)
	if err != nil {
		return row{}, err
	}
	found, ok := result.(spi.Found)
	if !ok {
		return row{next: 1}, nil
	}
	n, ok := Parse(found.Value.Bytes)
	if !ok {
		return row{}, &Corrupt{Key: key, Bytes: found.Value.Bytes}
	}
	return row{next: n, version: found.Value.Version}, nil
}

func request(key spi.Key, r row, block Block, gate Gate) spi.WriteRequest {
	var w spi.WriteRequest
	if gate != nil {
		w.Conditions, w.Mutations = gate(block)
	}
	var unchanged spi.Condition = spi.MissingCondition{Key: key}
	if r.version != "" {
		unchanged = spi.VersionCondition{Key: key, Expected: r.version}
	}
	return spi.WriteRequest{
		Conditions: append([]spi.Condition{unchanged}, w.Conditions...),
		Mutations:  append([]spi.Mutation{spi.Put{Key: key, Bytes: strconv.AppendInt(nil, block.Last+1, 10)}}, w.Mutations...),
	}
}
