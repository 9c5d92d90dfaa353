package payload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// read reads a blob; a missing one is a DataLost.
func (s Store) read(ctx context.Context, chunk int, ref spi.Reference) (spi.BlobFound, error) {
	result, err := s.Blobs.Read(ctx, ref)
	if err != nil {
		return spi.BlobFound{}, err
	}
	found, ok := result.(spi.BlobFound)
	if !ok {
		return spi.BlobFound{}, &DataLost{Chunk: chunk, Reference: ref, Reason: Absent}
	}
	return found, nil
}

// Confirm reads the chunk in its place of the payload and returns its data if
// it is what the index says, or else a *DataLost.
func (s Store) Confirm(ctx context.Context, order int, c Chunk) ([]byte, error) {
	found, err := s.read(ctx, order, c.Reference)
	if err != nil {
		return nil, err
	}
	lost := func(reason Reason, err error) error {
		return &DataLost{Chunk: order, Reference: c.Reference, Reason: reason, Err: err}
	}
	frame, err := DecodeFrame(found.Bytes)
	switch {
	case err != nil:
		return nil, lost(Damaged, err)
	case int(frame.Order) != order:
		return nil, lost(Misplaced, fmt.Errorf("its frame has order %d", frame.Order))
	case int64(len(frame.Data)) != c.Length:
		return nil, lost(Different, fmt.Errorf("%d bytes instead of %d", len(frame.Data), c.Length))
	case frame.CRC != c.CRC:
		return nil, lost(Different, fmt.Errorf("checksum %08x instead of %08x", frame.CRC, c.CRC))
	}
	return frame.Data, nil
}

// Index reads a payload's leading index and its expiry.
func (s Store) Index(ctx context.Context, ref spi.Reference) (Index, spi.BlobFound, error) {
	found, err := s.read(ctx, IndexLost, ref)
	if err != nil {
		return Index{}, spi.BlobFound{}, err
	}
	x, err := DecodeIndex(found.Bytes)
	if err != nil {
		return Index{}, spi.BlobFound{}, &DataLost{Chunk: IndexLost, Reference: ref, Reason: Damaged, Err: err}
	}
	if n, err := ChunkCount(x.Length, s.chunkSize()); err != nil || n != len(x.Chunks) ||
		x.Chunks[0].Length != min(x.Length, int64(s.chunkSize())) {
		err = fmt.Errorf("%d chunks, the first of %d bytes, make a payload of %d bytes", len(x.Chunks), x.Chunks[0].Length,
			x.Length)
		return Index{}, spi.BlobFound{}, &DataLost{Chunk: IndexLost, Reference: ref, Reason: Oversized, Err: err}
	}
	return x, found, nil
}

// Join writes a payload to dst, chunk after chunk in the index's order. What it
// has written may be used only if it returns no error: else the whole payload
// is lost, or the store failed (P3.data-lost).
func (s Store) Join(ctx context.Context, ref spi.Reference, dst io.Writer) (Index, error) {
	x, _, err := s.Index(ctx, ref)
	if err != nil {
		return Index{}, err
	}
	for order, c := range x.Chunks {
		data, err := s.Confirm(ctx, order, c)
		if err != nil {
			return Index{}, err
		}
		if _, err := dst.Write(data); err != nil {
			return Index{}, fmt.Errorf("write chunk %d of the payload: %w", order, err)
		}
	}
	return x, nil
}

// RenewDue renews the payload if no more than RenewAt is left of its index's
// retention by the provider's clock, and says whether it did.
func (s Store) RenewDue(ctx context.Context, ref spi.Reference) (renewed bool, err error) {
	_, found, err := s.Index(ctx, ref)
	if err != nil || found.ExpiresAt-found.StoreNow > s.renewAt() {
		return false, err
	}
	return true, s.Renew(ctx, ref)
}

// Renew verifies every chunk, then extends them, and the index last (P3.renew).
func (s Store) Renew(ctx context.Context, ref spi.Reference) error {
	x, _, err := s.Index(ctx, ref)
	if err != nil {
		return err
	}
	for order, c := range x.Chunks {
		if _, err := s.Confirm(ctx, order, c); err != nil {
			return err
		}
	}
	for order, c := range x.Chunks {
		if err := s.renewBlob(ctx, order, c.Reference); err != nil {
			return err
		}
	}
	return s.renewBlob(ctx, IndexLost, ref)
}

func (s Store) renewBlob(ctx context.Context, chunk int, ref spi.Reference) error {
	result, err := s.Blobs.Renew(ctx, ref, s.retention())
	if err != nil {
		return err
	}
	if _, ok := result.(spi.Renewed); !ok {
		return &DataLost{Chunk: chunk, Reference: ref, Reason: Absent}
	}
	return nil
}

// Delete deletes a payload, the index first, so that no index names a chunk
// that is gone. The payload's end of use is committed before (R6.published).
// Without its index the chunks cannot be found: they end with their retention.
func (s Store) Delete(ctx context.Context, ref spi.Reference) error {
	x, _, err := s.Index(ctx, ref)
	var lost *DataLost
	if err != nil && !errors.As(err, &lost) {
		return err
	}
	if err := s.Blobs.Delete(ctx, ref); err != nil {
		return err
	}
	for order, c := range x.Chunks {
		if err := s.Blobs.Delete(ctx, c.Reference); err != nil {
			return fmt.Errorf("delete chunk %d: %w", order, err)
		}
	}
	return nil
}
