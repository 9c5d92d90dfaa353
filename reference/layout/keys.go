// Package layout is the official Redis format of the two stores as pure
// functions: names of keys and bytes of ZSET members. It does no I/O.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// The hash tags of the two stores. Their braces are literal: Redis Cluster
// hashes only what stands between them, so that every key of a store lies in
// one slot (L9.slot), and the two stores' keys never meet (R8.apart).
const (
	LocationTag   = "{zlink-location-v3}"
	RelocationTag = "{zlink-relocation-v1}"
)

// ValidatePrefix returns an argument error for a key prefix that contains a
// brace, which would move the hash tag, or that is not UTF-8 (L9.prefix).
func ValidatePrefix(prefix string) error {
	if strings.ContainsAny(prefix, "{}") {
		return spi.Argument("key prefix %q contains a brace, which would move the Redis hash tag; use another prefix", prefix)
	}
	if !utf8.ValidString(prefix) {
		return spi.Argument("key prefix %q is not valid UTF-8", prefix)
	}
	return nil
}

// Namespace is what every Redis key of a Location Store starts with:
// `{prefix}:{zlink-location-v3}:opaque:`.
func Namespace(prefix string) string {
	return prefix + ":" + LocationTag + ":opaque:"
}

// RecordKey is the Redis key of the ZSET that holds a logical key's record:
// the namespace and the lowercase SHA-256 of the logical key (L9.key).
func RecordKey(prefix, logicalKey string) string {
	sum := sha256.Sum256([]byte(logicalKey))
	return Namespace(prefix) + hex.EncodeToString(sum[:])
}

// SequenceKey is the STRING counter that issues the scores of members.
func SequenceKey(prefix string) string { return Namespace(prefix) + "sequence" }

// IndexKey is the ZSET, all scores 0, of the logical keys that have a record.
func IndexKey(prefix string) string { return Namespace(prefix) + "index" }

// MapKey is the HASH from a logical key to its record's Redis key.
func MapKey(prefix string) string { return Namespace(prefix) + "map" }

// CleanupKey is the ZSET of logical keys by the time in milliseconds at which
// their history may be looked at.
func CleanupKey(prefix string) string { return Namespace(prefix) + "cleanup" }

// ScanKey is the HASH of one open snapshot: now, boundary, prefix.
func ScanKey(prefix, id string) string { return Namespace(prefix) + "scan:" + id }

// SnapshotExpiryKey is the ZSET of open snapshots by expiry in milliseconds.
func SnapshotExpiryKey(prefix string) string { return Namespace(prefix) + "snapshot-expiry" }

// SnapshotBoundaryKey is the ZSET of open snapshots by the sequence value that
// their first page fixed.
func SnapshotBoundaryKey(prefix string) string { return Namespace(prefix) + "snapshot-boundary" }

// BlobKey is the Redis key of the STRING that holds a relocation blob, with
// the reference as it is (R8.key).
func BlobKey(prefix, reference string) string {
	return prefix + ":" + RelocationTag + ":blob:" + reference
}
