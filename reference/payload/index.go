package payload

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/spi"
)

const (
	logicalVersion = 1
	digestBytes    = 32
	entryBytes     = 18 // u32 order, u16 reference length, u64 length, u32 CRC32C; the reference comes on top
)

// Index is the leading index of a payload (P3.index).
type Index struct {
	Length          int64  // of the whole payload, in bytes
	CRC             uint32 // of the whole payload
	InventoryDigest [digestBytes]byte
	Chunks          []Chunk // in the payload's order; a chunk's order is its position
}

// Chunk is what the index knows of one chunk.
type Chunk struct {
	Reference spi.Reference
	Length    int64  // of its application bytes
	CRC       uint32 // of its application bytes
}

// EncodeIndex returns the index's bytes. An index that breaks a bound is an
// argument error.
func EncodeIndex(x Index) ([]byte, error) {
	if _, reason := x.fault(); reason != "" {
		return nil, spi.Argument("leading index: %s", reason)
	}
	size := headBytes + 1 + 8 + 4 + 1 + digestBytes + 4 + trailerBytes
	for _, c := range x.Chunks {
		size += entryBytes + len(c.Reference)
	}
	big := binary.BigEndian
	raw := make([]byte, headBytes, size)
	putHead(raw, indexMagic, size-headBytes-trailerBytes)
	raw = append(raw, logicalVersion)
	raw = big.AppendUint64(raw, uint64(x.Length))
	raw = big.AppendUint32(raw, x.CRC)
	raw = append(raw, digestBytes)
	raw = append(raw, x.InventoryDigest[:]...)
	raw = big.AppendUint32(raw, uint32(len(x.Chunks)))
	for order, c := range x.Chunks {
		raw = big.AppendUint32(raw, uint32(order))
		raw = big.AppendUint16(raw, uint16(len(c.Reference)))
		raw = append(raw, c.Reference...)
		raw = big.AppendUint64(raw, uint64(c.Length))
		raw = big.AppendUint32(raw, c.CRC)
	}
	return big.AppendUint32(raw, Checksum(raw)), nil
}

// DecodeIndex reads an index and checks its checksum, its bounds, and that its
// chunks' lengths and checksums make up the payload's. Its error is a
// *FormatError.
func DecodeIndex(raw []byte) (Index, error) {
	var x Index
	r := openReader("leading index", indexMagic, raw)
	if v := r.uint8("logical version"); r.err == nil && v != logicalVersion {
		r.fail("logical version", r.at-1, "%d: only %d is supported", v, logicalVersion)
	}
	x.Length = int64(r.uint64("total length"))
	x.CRC = r.uint32("payload checksum")
	if n := r.uint8("digest length"); r.err == nil && n != digestBytes {
		r.fail("digest length", r.at-1, "%d, want %d", n, digestBytes)
	}
	copy(x.InventoryDigest[:], r.bytes("inventory digest", digestBytes))
	count := r.uint32("chunk count")
	if r.err == nil && (count < 1 || count > spi.MaxChunks) {
		r.fail("chunk count", r.at-4, "%d: it must be 1 to %d", count, spi.MaxChunks)
	}
	for order := uint32(0); order < count && r.err == nil; order++ {
		x.Chunks = append(x.Chunks, r.chunk(order))
	}
	r.close(func() uint32 { return Checksum(raw[:r.end]) })
	if field, reason := x.fault(); r.err == nil && reason != "" {
		r.fail(field, headBytes, "%s", reason)
	}
	if crc := x.combined(); r.err == nil && crc != x.CRC {
		r.fail("payload checksum", headBytes+9, "%08x, but the chunks' checksums give %08x", x.CRC, crc)
	}
	if r.err != nil {
		return Index{}, r.err
	}
	return x, nil
}

func (r *reader) chunk(order uint32) Chunk {
	field := func(name string) string { return fmt.Sprintf("chunk %d's %s", order, name) }
	if got := r.uint32(field("order")); r.err == nil && got != order {
		r.fail(field("order"), r.at-4, "%d", got)
	}
	size := r.uint16(field("reference length"))
	return Chunk{
		Reference: spi.Reference(r.bytes(field("reference"), int(size))),
		Length:    int64(r.uint64(field("length"))),
		CRC:       r.uint32(field("checksum")),
	}
}

// fault says which field breaks a bound and how; "" if none does (P3.bounds).
func (x Index) fault() (field, reason string) {
	if n := len(x.Chunks); n < 1 || n > spi.MaxChunks {
		return "chunk count", fmt.Sprintf("%d chunks: it must be 1 to %d", n, spi.MaxChunks)
	}
	var sum int64
	seen := make(map[spi.Reference]bool, len(x.Chunks))
	for order, c := range x.Chunks {
		at := fmt.Sprintf("chunk %d's ", order)
		if reason := referenceFault(c.Reference); reason != "" {
			return at + "reference", at + "reference " + reason
		}
		if seen[c.Reference] {
			return at + "reference", at + "reference stands twice"
		}
		seen[c.Reference] = true
		if reason := x.lengthFault(order); reason != "" {
			return at + "length", at + "length is " + reason
		}
		sum += c.Length
	}
	if sum != x.Length {
		return "total length", fmt.Sprintf("total length is %d, but the chunks have %d bytes", x.Length, sum)
	}
	return "", ""
}

// lengthFault checks that every chunk but the last is equally full, and that
// only an empty payload has an empty chunk.
func (x Index) lengthFault(order int) string {
	full, got := x.Chunks[0].Length, x.Chunks[order].Length
	last := order == len(x.Chunks)-1
	switch {
	case got < 0 || got > spi.MaxChunkBytes:
		return fmt.Sprintf("%d: at most %d is allowed", got, spi.MaxChunkBytes)
	case got == 0 && len(x.Chunks) > 1:
		return "0 beside other chunks"
	case got > full, got < full && !last:
		return fmt.Sprintf("%d, but all chunks before the last have %d", got, full)
	}
	return ""
}

// combined is the payload's checksum as its chunks' give it.
func (x Index) combined() (crc uint32) {
	for _, c := range x.Chunks {
		crc = Combine(crc, c.CRC, c.Length)
	}
	return crc
}

func referenceFault(ref spi.Reference) string {
	switch {
	case len(ref) < 1 || len(ref) > spi.MaxReferenceBytes:
		return fmt.Sprintf("has %d bytes: it must have 1 to %d", len(ref), spi.MaxReferenceBytes)
	case !utf8.ValidString(string(ref)):
		return "is not valid UTF-8"
	}
	return ""
}
