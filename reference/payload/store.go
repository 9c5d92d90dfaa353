package payload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// The framework's defaults (P3.defaults).
const (
	DefaultRetention = 24 * time.Hour
	DefaultRenewAt   = 12 * time.Hour // what is left when a renewal is due
)

// ErrReferenceTaken says that a reference holds other bytes already.
var ErrReferenceTaken = errors.New("the reference holds other bytes")

// Store keeps payloads in a Relocation Store. Its memory is a few chunks,
// whatever a payload's length. The zero value of each option is its default.
type Store struct {
	Blobs     spi.RelocationStore
	ChunkSize int           // in bytes, spi.MaxChunkBytes; smaller in tests
	Retention spi.Retention // in milliseconds, DefaultRetention
	RenewAt   time.Duration // DefaultRenewAt
}

func (s Store) chunkSize() int {
	if s.ChunkSize == 0 {
		return spi.MaxChunkBytes
	}
	return s.ChunkSize
}

func (s Store) retention() spi.Retention {
	if s.Retention == 0 {
		return spi.Retention(DefaultRetention.Milliseconds())
	}
	return s.Retention
}

func (s Store) renewAt() spi.Millis {
	if s.RenewAt == 0 {
		return spi.Millis(DefaultRenewAt.Milliseconds())
	}
	return spi.Millis(s.RenewAt.Milliseconds())
}

// Plan says where a payload goes. All references are new ones.
type Plan struct {
	Index           spi.Reference
	Chunk           func(order int) spi.Reference
	Length          int64 // of the payload, in bytes
	InventoryDigest [digestBytes]byte
}

// Put stores a payload: each chunk is stored and read back, and only then is
// the index stored (P3.store-order). If it fails there is no index, and the
// chunks end with their retention. Putting the same payload again completes
// it. Lengths and references out of bounds are argument errors before any I/O
// (P3.bounds).
func (s Store) Put(ctx context.Context, plan Plan, src io.Reader) (Index, error) {
	x, err := plan.index(s.chunkSize())
	if err != nil {
		return Index{}, err
	}
	split, err := NewSplitter(src, plan.Length, s.chunkSize())
	if err != nil {
		return Index{}, err
	}
	for order := range x.Chunks {
		c := &x.Chunks[order]
		frame, read, err := split.Next()
		if err != nil {
			return Index{}, err
		}
		c.Length, c.CRC = read.Length, read.CRC
		x.CRC = Combine(x.CRC, c.CRC, c.Length)
		if err := s.putBlob(ctx, c.Reference, frame); err != nil {
			return Index{}, fmt.Errorf("store chunk %d: %w", order, err)
		}
		if _, err := s.Confirm(ctx, order, *c); err != nil {
			return Index{}, err
		}
	}
	if _, _, err := split.Next(); err != io.EOF {
		return Index{}, err
	}
	return x, s.putIndex(ctx, plan.Index, x)
}

// index returns the plan's index, still without checksums.
func (p Plan) index(chunkSize int) (Index, error) {
	n, err := ChunkCount(p.Length, chunkSize)
	if err != nil {
		return Index{}, err
	}
	if reason := referenceFault(p.Index); reason != "" {
		return Index{}, spi.Argument("index reference %s", reason)
	}
	x := Index{Length: p.Length, InventoryDigest: p.InventoryDigest, Chunks: make([]Chunk, n)}
	for order, rest := 0, p.Length; order < n; order++ {
		length := min(rest, int64(chunkSize))
		x.Chunks[order] = Chunk{Reference: p.Chunk(order), Length: length}
		rest -= length
		if x.Chunks[order].Reference == p.Index {
			return Index{}, spi.Argument("chunk %d has the index's reference", order)
		}
	}
	if _, reason := x.fault(); reason != "" {
		return Index{}, spi.Argument("payload: %s", reason)
	}
	return x, nil
}

func (s Store) putIndex(ctx context.Context, ref spi.Reference, x Index) error {
	raw, err := EncodeIndex(x)
	if err != nil {
		return err
	}
	if err := s.putBlob(ctx, ref, raw); err != nil {
		return fmt.Errorf("store leading index: %w", err)
	}
	back, err := s.read(ctx, IndexLost, ref)
	if err == nil && !bytes.Equal(back.Bytes, raw) {
		err = &DataLost{Chunk: IndexLost, Reference: ref, Reason: Different}
	}
	return err
}

func (s Store) putBlob(ctx context.Context, ref spi.Reference, raw []byte) error {
	result, err := s.Blobs.Put(ctx, ref, raw, s.retention())
	if err != nil {
		return err
	}
	switch result.(type) {
	case spi.Conflict:
		return ErrReferenceTaken
	case spi.AlreadyStored:
		// From an earlier attempt, whose retention has begun to run.
		_, err = s.Blobs.Renew(ctx, ref, s.retention())
	}
	return err
}
