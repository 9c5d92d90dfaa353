package spi

import "context"

// RelocationStore is the Relocation Store contract (R3..R7). Its operations
// are safe for concurrent use; the context is the cancellation token, as for
// LocationStore.
type RelocationStore interface {
	// Put stores the payload: Stored, AlreadyStored if the same bytes are
	// there, Conflict if others are (R4.put).
	Put(ctx context.Context, ref Reference, payload []byte, retention Retention) (BlobPutResult, error)
	// Read returns BlobFound or Missing (R4.read).
	Read(ctx context.Context, ref Reference) (BlobReadResult, error)
	// Renew computes a new expiry from the provider's clock and leaves the
	// bytes alone: Renewed or Missing (R4.renew).
	Renew(ctx context.Context, ref Reference, retention Retention) (BlobRenewResult, error)
	// Delete removes the reference and succeeds if it is absent (R4.delete).
	Delete(ctx context.Context, ref Reference) error
	// Close disposes the instance once (R7.shared).
	Close() error
}

// BlobPutResult is Stored, AlreadyStored or Conflict.
type BlobPutResult interface{ blobPutResult() }

// Stored says that the reference was free and now holds the payload.
type Stored struct {
	ExpiresAt Millis
	StoreNow  Millis
}

// AlreadyStored says that the reference holds these very bytes already.
type AlreadyStored struct {
	ExpiresAt Millis
	StoreNow  Millis
}

// BlobReadResult is BlobFound or Missing.
type BlobReadResult interface{ blobReadResult() }

// BlobFound is a live payload, one observation.
type BlobFound struct {
	Bytes     []byte
	ExpiresAt Millis
	StoreNow  Millis
}

// BlobRenewResult is Renewed or Missing.
type BlobRenewResult interface{ blobRenewResult() }

// Renewed carries the new expiry: StoreNow plus the retention asked for.
type Renewed struct {
	ExpiresAt Millis
	StoreNow  Millis
}

func (Stored) blobPutResult()        {}
func (AlreadyStored) blobPutResult() {}
func (Conflict) blobPutResult()      {}
func (BlobFound) blobReadResult()    {}
func (Missing) blobReadResult()      {}
func (Renewed) blobRenewResult()     {}
func (Missing) blobRenewResult()     {}
