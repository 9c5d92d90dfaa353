package reference

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Relocation is the reference Relocation Store.
type Relocation struct {
	*store
	put, read, renew, delete *redis.Script
}

var _ spi.RelocationStore = (*Relocation)(nil)

// Put stores the payload, or tells whether the reference holds the same bytes
// (R4.put).
func (s *Relocation) Put(
	ctx context.Context, ref spi.Reference, payload []byte, retention spi.Retention,
) (spi.BlobPutResult, error) {
	if err := validateReference(ref); err != nil {
		return nil, err
	}
	if err := validateSize("payload", payload, spi.MaxBlobBytes); err != nil {
		return nil, err
	}
	ms, err := retentionArgument(retention)
	if err != nil {
		return nil, err
	}
	r, err := s.eval(ctx, s.put, layout.BlobKey(s.prefix, string(ref)), payload, ms)
	if err != nil {
		return nil, err
	}
	kind, now, expiresAt, err := blobReply(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "stored":
		return spi.Stored{ExpiresAt: expiresAt, StoreNow: now}, nil
	case "alreadyStored":
		return spi.AlreadyStored{ExpiresAt: expiresAt, StoreNow: now}, nil
	case "conflict":
		return spi.Conflict{StoreNow: now}, nil
	}
	return nil, storeFailure(errReply)
}

// Read returns spi.BlobFound or spi.Missing (R4.read).
func (s *Relocation) Read(ctx context.Context, ref spi.Reference) (spi.BlobReadResult, error) {
	if err := validateReference(ref); err != nil {
		return nil, err
	}
	r, err := s.eval(ctx, s.read, layout.BlobKey(s.prefix, string(ref)))
	if err != nil {
		return nil, err
	}
	kind, now, expiresAt, err := blobReply(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "missing":
		return spi.Missing{StoreNow: now}, nil
	case "found":
		payload, err := r.text(3)
		if err != nil {
			return nil, err
		}
		return spi.BlobFound{Bytes: bytesOf(payload), ExpiresAt: expiresAt, StoreNow: now}, nil
	}
	return nil, storeFailure(errReply)
}

// Renew sets a new expiry and leaves the bytes alone (R4.renew).
func (s *Relocation) Renew(ctx context.Context, ref spi.Reference, retention spi.Retention) (spi.BlobRenewResult, error) {
	if err := validateReference(ref); err != nil {
		return nil, err
	}
	ms, err := retentionArgument(retention)
	if err != nil {
		return nil, err
	}
	r, err := s.eval(ctx, s.renew, layout.BlobKey(s.prefix, string(ref)), ms)
	if err != nil {
		return nil, err
	}
	kind, now, expiresAt, err := blobReply(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "missing":
		return spi.Missing{StoreNow: now}, nil
	case "renewed":
		return spi.Renewed{ExpiresAt: expiresAt, StoreNow: now}, nil
	}
	return nil, storeFailure(errReply)
}

// Delete removes the reference and succeeds if it is absent (R4.delete).
func (s *Relocation) Delete(ctx context.Context, ref spi.Reference) error {
	if err := validateReference(ref); err != nil {
		return err
	}
	_, err := s.eval(ctx, s.delete, layout.BlobKey(s.prefix, string(ref)))
	return err
}

// blobReply reads the kind, the clock and, where the kind has one, the expiry.
func blobReply(r reply) (kind string, now, expiresAt spi.Millis, err error) {
	if kind, err = r.text(0); err != nil {
		return "", 0, 0, err
	}
	if now, err = r.millis(1); err != nil {
		return "", 0, 0, err
	}
	if len(r) > 2 {
		expiresAt, err = r.millis(2)
	}
	return kind, now, expiresAt, err
}
