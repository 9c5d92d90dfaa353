package layout

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// FormatError says why bytes are not a member of the official layout
// (L9.unknown-tag).
type FormatError struct {
	Offset int    // of the first wrong byte
	Field  string // tag, array, key, value, version, expiresAtMs, tombstone, end
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("member is unreadable at byte %d, %s: %s", e.Offset, e.Field, e.Reason)
}

// DecodeMember reads exactly what EncodeMember writes: tag 0x01, five fields,
// str / str / str / uint / bool, each in its smallest width, and nothing after
// them. Anything else is a *FormatError. Value is a part of raw, not a copy.
func DecodeMember(raw []byte) (Member, error) {
	d := decoder{raw: raw}
	d.exactly("tag", Tag)
	d.exactly("array", Array)
	key := d.str("key")
	value := d.str("value")
	version := d.str("version")
	expiresAt := d.uint("expiresAtMs")
	tombstone := d.bool("tombstone")
	if d.err == nil && d.at != len(raw) {
		d.fail("end", fmt.Sprintf("%d bytes follow the last field", len(raw)-d.at))
	}
	if d.err != nil {
		return Member{}, d.err
	}
	return Member{Key: string(key), Value: value, Version: string(version), ExpiresAt: expiresAt, Tombstone: tombstone}, nil
}

// decoder stops at its first error: later calls return zero values.
type decoder struct {
	raw []byte
	at  int
	err error
}

func (d *decoder) fail(field, reason string) {
	if d.err == nil {
		d.err = &FormatError{Offset: d.at, Field: field, Reason: reason}
	}
}

// peek returns the n bytes at offset skip from here, or nil after a failure.
func (d *decoder) peek(field string, skip, n int) []byte {
	if d.err != nil {
		return nil
	}
	rest := len(d.raw) - d.at - skip
	if rest < n {
		d.fail(field, fmt.Sprintf("ends early: %d bytes wanted, %d left", n, max(rest, 0)))
		return nil
	}
	return d.raw[d.at+skip : d.at+skip+n : d.at+skip+n]
}

func (d *decoder) exactly(field string, want byte) {
	b := d.peek(field, 0, 1)
	if b == nil {
		return
	}
	if b[0] != want {
		d.fail(field, fmt.Sprintf("0x%02x, want 0x%02x", b[0], want))
		return
	}
	d.at++
}

func (d *decoder) str(field string) []byte {
	head := d.peek(field, 0, 1)
	if head == nil {
		return nil
	}
	var size, width int
	switch b := head[0]; {
	case b >= 0xa0 && b <= 0xbf:
		size = int(b & 0x1f)
	case b == 0xd9:
		width = 1
	case b == 0xda:
		width = 2
	case b == 0xdb:
		width = 4
	case b >= 0xc4 && b <= 0xc6:
		d.fail(field, fmt.Sprintf("0x%02x is the bin family, want str", b))
		return nil
	default:
		d.fail(field, fmt.Sprintf("0x%02x is no str", b))
		return nil
	}
	if width > 0 {
		n := d.bigEndian(field, width)
		if n > uint64(len(d.raw)) {
			d.fail(field, fmt.Sprintf("ends early: a str of %d bytes in a member of %d", n, len(d.raw)))
			return nil
		}
		size = int(n)
		if d.err == nil && strLen(size) != 1+width+size {
			d.fail(field, fmt.Sprintf("str of %d bytes is not in its smallest width", n))
		}
	}
	content := d.peek(field, 1+width, size)
	if d.err != nil {
		return nil
	}
	d.at += 1 + width + size
	return content
}

func (d *decoder) uint(field string) spi.Millis {
	head := d.peek(field, 0, 1)
	if head == nil {
		return 0
	}
	b := head[0]
	if b < 0x80 {
		d.at++
		return spi.Millis(b)
	}
	if b < 0xcc || b > 0xcf {
		d.fail(field, fmt.Sprintf("0x%02x is no unsigned int", b))
		return 0
	}
	width := 1 << (b - 0xcc)
	n := d.bigEndian(field, width)
	switch {
	case d.err != nil:
		return 0
	case uintLen(n) != 1+width:
		d.fail(field, fmt.Sprintf("%d is not in its smallest width", n))
		return 0
	case n > math.MaxInt64:
		d.fail(field, fmt.Sprintf("%d is beyond 2^63-1", n))
		return 0
	}
	d.at += 1 + width
	return spi.Millis(n)
}

func (d *decoder) bool(field string) bool {
	b := d.peek(field, 0, 1)
	if b == nil {
		return false
	}
	if b[0] != 0xc2 && b[0] != 0xc3 {
		d.fail(field, fmt.Sprintf("0x%02x is no bool", b[0]))
		return false
	}
	d.at++
	return b[0] == 0xc3
}

// bigEndian reads the width bytes behind a header byte, without moving on.
func (d *decoder) bigEndian(field string, width int) uint64 {
	b := d.peek(field, 1, width)
	if b == nil {
		return 0
	}
	var padded [8]byte
	copy(padded[8-width:], b)
	return binary.BigEndian.Uint64(padded[:])
}
