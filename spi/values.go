// Package spi states the two ZLink storage contracts as Go types: the Location
// Store (exact read, conditional atomic batch, snapshot scan) and the
// Relocation Store (put, read, renew and delete of immutable blobs).
//
// The IDs in the comments, such as L3.key-length, name the requirements of the
// catalogue in package contract.
package spi

// Key is an opaque logical key: 1..MaxKeyBytes bytes of UTF-8, compared byte
// for byte (L3.key-length, L3.key-identity).
type Key string

// Version is issued by the provider for each Put: opaque UTF-8 of
// 1..MaxVersionBytes bytes, never issued twice for a key (L3.version-form,
// L3.version-fresh).
type Version string

// Cursor continues a snapshot scan: opaque UTF-8 of 1..MaxCursorBytes bytes
// (L5.cursor).
type Cursor string

// Reference names a blob: opaque UTF-8 of 1..MaxReferenceBytes bytes issued by
// the framework before Put (R3.reference).
type Reference string

// Millis is a point on the provider's clock in whole milliseconds since the
// Unix epoch. As an expiry, NoExpiry means that the value is durable.
type Millis int64

// NoExpiry is the expiry of a value without retention (L3.value-durable).
const NoExpiry Millis = 0

// Retention is a length of time in milliseconds. It may hold a fraction, which
// a provider never rounds down to nothing, and it must be positive
// (L4.retention, R4.retention). It is wider than time.Duration on purpose:
// other languages' durations reach far beyond 292 years.
type Retention float64

// For returns a retention of ms milliseconds as Put wants it.
func For(ms float64) *Retention {
	r := Retention(ms)
	return &r
}

// Limits of the contract. All lengths count bytes, never characters.
const (
	MaxKeyBytes       = 1024                             // L3.key-length
	MaxValueBytes     = 1 << 20                          // L3.value-size
	MaxVersionBytes   = 4096                             // L3.version-form
	MaxBatchKeys      = 2048                             // L4.key-bound: unique keys over conditions and mutations
	MaxBatchBytes     = 4 << 20                          // L4.byte-bound
	BatchBytesSlack   = 64 << 10                         // L4.byte-bound: MaxBatchBytes less this is always accepted
	MaxPrefixBytes    = 1024                             // L5.prefix
	MaxScanLimit      = 1000                             // L5.limit
	MaxPageBytes      = 4 << 20                          // L5.page-bytes
	MaxCursorBytes    = 4096                             // L5.cursor
	MaxReferenceBytes = 4096                             // R3.reference
	MaxChunkBytes     = 64 << 20                         // P3.bounds: application bytes of a chunk
	ChunkOverhead     = 23                               // P3.frame
	MaxBlobBytes      = MaxChunkBytes + ChunkOverhead    // R3.size
	MaxChunks         = 4096                             // P3.bounds
	MaxPayloadBytes   = int64(MaxChunks) * MaxChunkBytes // P3.bounds: 256 GiB
)
