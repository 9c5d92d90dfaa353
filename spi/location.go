package spi

import "context"

// LocationStore is the Location Store contract (L2..L7). Its operations are
// safe for concurrent use. The context is the operation's cancellation token:
// cancelled before the start, no I/O begins (L6.cancel-before); cancelled or
// timed out later, the operation fails with an *Error and its outcome is
// unknown (L6.unknown-outcome).
type LocationStore interface {
	// Read returns Missing or Found, one observation (L2.observation).
	Read(ctx context.Context, key Key) (ReadResult, error)
	// Write checks every condition and then applies every mutation as one
	// commit: Applied, or Conflict with nothing changed (L4.all-or-nothing).
	Write(ctx context.Context, request WriteRequest) (WriteResult, error)
	// Scan returns a Page of the snapshot that the first page fixed, or
	// Expired if that snapshot is gone (L5.snapshot, L5.expired).
	Scan(ctx context.Context, request ScanRequest) (ScanResult, error)
	// Close disposes the instance once and leaves other instances on a shared
	// connection working (L7.dispose).
	Close() error
}

// ReadResult is Missing or Found.
type ReadResult interface{ readResult() }

// Missing says that a key or reference is absent, deleted or expired at
// StoreNow.
type Missing struct {
	StoreNow Millis
}

// Value is a stored value: bytes, version and expiry of one observation.
type Value struct {
	Bytes     []byte
	Version   Version
	ExpiresAt Millis // NoExpiry if durable
}

// Found is a live value and the provider's clock when it was read.
type Found struct {
	Value    Value
	StoreNow Millis
}

// Condition is MissingCondition, VersionCondition or ValueCondition.
type Condition interface {
	// ConditionKey is the key that the condition tests.
	ConditionKey() Key
	condition()
}

// MissingCondition holds only if the key is absent, deleted or expired
// (L4.missing).
type MissingCondition struct{ Key Key }

// VersionCondition holds only if the key's current version is Expected
// (L4.version).
type VersionCondition struct {
	Key      Key
	Expected Version
}

// ValueCondition holds only while the live bytes are identical to Expected,
// whatever their version. It is optional: capability "condition.value".
type ValueCondition struct {
	Key      Key
	Expected []byte // at most MaxValueBytes
}

// Mutation is Put or Delete.
type Mutation interface {
	// MutationKey is the key that the mutation changes.
	MutationKey() Key
	mutation()
}

// Put stores Bytes under a new version (L4.put). A nil Retention makes the
// value durable.
type Put struct {
	Key       Key
	Bytes     []byte // at most MaxValueBytes
	Retention *Retention
}

// Delete removes the key; deleting an absent key applies (L4.delete).
type Delete struct{ Key Key }

// WriteRequest is a conditional atomic batch. A key stands at most once in
// Conditions and at most once in Mutations (L4.duplicates).
type WriteRequest struct {
	Conditions []Condition
	Mutations  []Mutation
}

// WriteResult is Applied or Conflict.
type WriteResult interface{ writeResult() }

// PutVersion is the version that one Put of a batch was given.
type PutVersion struct {
	Key     Key
	Version Version
}

// Applied holds one version for each Put of the batch, in any order, and the
// clock at commit (L4.applied).
type Applied struct {
	PutVersions []PutVersion
	StoreNow    Millis
}

// Conflict says that nothing was changed, and not why (L4.conflict-silent).
// The Relocation Store answers it when a reference holds other bytes (R4.put).
type Conflict struct {
	StoreNow Millis
}

// ScanRequest asks for one page of at most Limit items whose keys start with
// the bytes of Prefix. A nil Cursor asks for the first page.
type ScanRequest struct {
	Prefix string
	Cursor *Cursor // nil: the first page
	Limit  int
}

// ScanResult is Page or Expired.
type ScanResult interface{ scanResult() }

// Item is one record of a snapshot.
type Item struct {
	Key   Key
	Value Value
}

// Page is one page of a snapshot; a nil Next marks the last one.
type Page struct {
	Items    []Item
	Next     *Cursor
	StoreNow Millis
}

// Expired says that the cursor is unknown or its snapshot is gone
// (L5.expired). It is a normal result.
type Expired struct{}

func (Missing) readResult()   {}
func (Found) readResult()     {}
func (Applied) writeResult()  {}
func (Conflict) writeResult() {}
func (Page) scanResult()      {}
func (Expired) scanResult()   {}

func (c MissingCondition) ConditionKey() Key { return c.Key }
func (c VersionCondition) ConditionKey() Key { return c.Key }
func (c ValueCondition) ConditionKey() Key   { return c.Key }
func (MissingCondition) condition()          {}
func (VersionCondition) condition()          {}
func (ValueCondition) condition()            {}

func (m Put) MutationKey() Key    { return m.Key }
func (m Delete) MutationKey() Key { return m.Key }
func (Put) mutation()             {}
func (Delete) mutation()          {}
