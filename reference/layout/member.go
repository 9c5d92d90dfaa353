package layout

import (
	"encoding/binary"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// Tag is the first byte of every member: the format's version (L9.member).
const Tag = 0x01

// Array is the MessagePack header of an array of five.
const Array = 0x95

// Member is one entry of a record's ZSET; the one with the highest score is
// the record's current state (L9.zset).
type Member struct {
	Key       string // the logical key
	Value     []byte // raw bytes, empty in a tombstone (L9.raw-bytes)
	Version   string
	ExpiresAt spi.Millis // never negative; spi.NoExpiry if durable
	Tombstone bool
}

// EncodeMember appends m to dst as the tag and a MessagePack array of five:
// byte for byte what Redis's Lua cmsgpack writes (L9.member). It allocates at
// most once.
func EncodeMember(dst []byte, m Member) []byte {
	if need := encodedLen(m); cap(dst)-len(dst) < need {
		grown := make([]byte, len(dst), len(dst)+need)
		copy(grown, dst)
		dst = grown
	}
	dst = append(dst, Tag, Array)
	dst = append(appendStrHeader(dst, len(m.Key)), m.Key...)
	dst = append(appendStrHeader(dst, len(m.Value)), m.Value...)
	dst = append(appendStrHeader(dst, len(m.Version)), m.Version...)
	dst = appendUint(dst, uint64(m.ExpiresAt))
	if m.Tombstone {
		return append(dst, 0xc3)
	}
	return append(dst, 0xc2)
}

func encodedLen(m Member) int {
	const fixed = 3 // tag, array header, bool
	return fixed + strLen(len(m.Key)) + strLen(len(m.Value)) + strLen(len(m.Version)) + uintLen(uint64(m.ExpiresAt))
}

func strLen(n int) int {
	switch {
	case n < 32:
		return 1 + n
	case n < 1<<8:
		return 2 + n
	case n < 1<<16:
		return 3 + n
	}
	return 5 + n
}

func uintLen(n uint64) int {
	switch {
	case n < 1<<7:
		return 1
	case n < 1<<8:
		return 2
	case n < 1<<16:
		return 3
	case n < 1<<32:
		return 5
	}
	return 9
}

func appendStrHeader(dst []byte, n int) []byte {
	switch {
	case n < 32:
		return append(dst, 0xa0|byte(n))
	case n < 1<<8:
		return append(dst, 0xd9, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xda), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdb), uint32(n))
}

func appendUint(dst []byte, n uint64) []byte {
	switch {
	case n < 1<<7:
		return append(dst, byte(n))
	case n < 1<<8:
		return append(dst, 0xcc, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(dst, 0xcd), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(dst, 0xce), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xcf), n)
}
