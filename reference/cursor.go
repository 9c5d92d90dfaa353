package reference

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// snapshotID is random, so that no cursor can be guessed for a snapshot that
// its holder did not open.
type snapshotID [16]byte

func newSnapshotID() (id snapshotID) {
	rand.Read(id[:]) // never fails
	return id
}

func (id snapshotID) text() string { return hex.EncodeToString(id[:]) }

// position is where a scan goes on: behind a key of a snapshot.
type position struct {
	snapshot snapshotID
	after    string // empty on the first page
}

const checksumSize = 8

// A cursor is URL-safe base64 of snapshot, checksum and key: at most 1,398
// bytes (L5.cursor). The checksum tells a damaged cursor from another place.
func encodeCursor(p position) spi.Cursor {
	raw := make([]byte, 0, len(p.snapshot)+checksumSize+len(p.after))
	raw = append(raw, p.snapshot[:]...)
	raw = append(raw, p.checksum()...)
	raw = append(raw, p.after...)
	return spi.Cursor(cursorEncoding.EncodeToString(raw))
}

var cursorEncoding = base64.RawURLEncoding.Strict()

// decodeCursor answers false for anything that encodeCursor did not write.
func decodeCursor(cursor spi.Cursor) (position, bool) {
	raw, err := cursorEncoding.DecodeString(string(cursor))
	var p position
	if err != nil || len(raw) <= len(p.snapshot)+checksumSize {
		return p, false
	}
	rest := raw[copy(p.snapshot[:], raw):]
	p.after = string(rest[checksumSize:])
	return p, bytes.Equal(p.checksum(), rest[:checksumSize])
}

func (p position) checksum() []byte {
	sum := sha256.Sum256(append(p.snapshot[:], p.after...))
	return sum[:checksumSize]
}
