// Package payload is the framework's side of the Relocation Store: a payload
// is split into chunk frames, each a blob, and a leading index that names them
// in order. All integers are big-endian; all checksums are CRC32C.
package payload

import (
	"encoding/binary"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/spi"
)

const (
	frameMagic    = "ZLTC"
	indexMagic    = "ZLTM"
	formatVersion = 1

	headBytes    = 11 // magic, u8 version, u16 flags, u32 body length
	frameData    = 19 // offset of a frame's data: head, u32 order, u32 data length
	trailerBytes = 4  // CRC32C of all bytes before it
)

// FormatError says where bytes differ from the format of a chunk frame or a
// leading index.
type FormatError struct {
	Format string // "chunk frame" or "leading index"
	Field  string
	Offset int // of the field's first byte
	Reason string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s is unreadable at byte %d, %s: %s", e.Format, e.Offset, e.Field, e.Reason)
}

// Frame is one chunk of a payload (P3.frame).
type Frame struct {
	Order uint32 // from 0
	Data  []byte // at most spi.MaxChunkBytes
	CRC   uint32 // of Data
}

// EncodeFrame returns the frame of the data: spi.ChunkOverhead bytes more.
func EncodeFrame(order uint32, data []byte) ([]byte, error) {
	if len(data) > spi.MaxChunkBytes {
		return nil, spi.Argument("chunk has %d bytes: at most %d are allowed", len(data), spi.MaxChunkBytes)
	}
	raw := make([]byte, len(data)+spi.ChunkOverhead)
	copy(raw[frameData:], data)
	seal(raw, order, Checksum(data))
	return raw, nil
}

// seal completes a frame whose data stands in its place already.
func seal(raw []byte, order, dataCRC uint32) {
	end := len(raw) - trailerBytes
	putHead(raw, frameMagic, end-headBytes)
	binary.BigEndian.PutUint32(raw[headBytes:], order)
	binary.BigEndian.PutUint32(raw[headBytes+4:], uint32(end-frameData))
	crc := Combine(Checksum(raw[:frameData]), dataCRC, int64(end-frameData))
	binary.BigEndian.PutUint32(raw[end:], crc)
}

// DecodeFrame reads a frame and checks its checksum. Data is a part of raw, not
// a copy. Its error is a *FormatError.
func DecodeFrame(raw []byte) (Frame, error) {
	r := openReader("chunk frame", frameMagic, raw)
	f := Frame{Order: r.uint32("order")}
	length := r.uint32("data length")
	if r.err == nil && int64(length) > spi.MaxChunkBytes {
		r.fail("data length", r.at-4, "%d bytes: at most %d are allowed", length, spi.MaxChunkBytes)
	}
	f.Data = r.bytes("data", int(length))
	if r.err == nil {
		f.CRC = Checksum(f.Data)
	}
	r.close(func() uint32 { return Combine(Checksum(raw[:frameData]), f.CRC, int64(length)) })
	if r.err != nil {
		return Frame{}, r.err
	}
	return f, nil
}

func putHead(raw []byte, magic string, body int) {
	copy(raw, magic)
	raw[4] = formatVersion
	binary.BigEndian.PutUint16(raw[5:], 0)
	binary.BigEndian.PutUint32(raw[7:], uint32(body))
}

// reader walks through a frame or an index and keeps its first error; later
// reads then return zero values.
type reader struct {
	format string
	raw    []byte
	at     int
	end    int // where the trailing checksum begins
	err    error
}

func openReader(format, magic string, raw []byte) *reader {
	r := &reader{format: format, raw: raw, end: len(raw) - trailerBytes}
	if got := r.bytes("magic", len(magic)); r.err == nil && string(got) != magic {
		r.fail("magic", 0, "%q, want %q", got, magic)
	}
	if v := r.uint8("format version"); r.err == nil && v != formatVersion {
		r.fail("format version", 4, "%d: only %d is supported", v, formatVersion)
	}
	if flags := r.uint16("flags"); r.err == nil && flags != 0 {
		r.fail("flags", 5, "0x%04x, want 0", flags)
	}
	if body := r.uint32("body length"); r.err == nil && int64(body) != int64(r.end-headBytes) {
		r.fail("body length", 7, "%d, but %d bytes follow before the checksum", body, r.end-headBytes)
	}
	return r
}

// close checks that nothing is left but the checksum that sum computes.
func (r *reader) close(sum func() uint32) {
	switch {
	case r.err != nil:
		return
	case r.at != r.end:
		r.fail("end", r.at, "%d bytes follow the last field", r.end-r.at)
		return
	}
	if got, want := binary.BigEndian.Uint32(r.raw[r.end:]), sum(); got != want {
		r.fail("checksum", r.end, "%08x, but the bytes give %08x", got, want)
	}
}

func (r *reader) fail(field string, offset int, format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Format: r.format, Field: field, Offset: offset, Reason: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) bytes(field string, n int) []byte {
	if r.err == nil && r.end-r.at < n {
		r.fail(field, r.at, "ends early: %d bytes wanted, %d left", n, max(r.end-r.at, 0))
	}
	if r.err != nil {
		return nil
	}
	r.at += n
	return r.raw[r.at-n : r.at : r.at]
}

// word reads n bytes as an unsigned integer.
func (r *reader) word(field string, n int) uint64 {
	var padded [8]byte
	copy(padded[8-n:], r.bytes(field, n))
	return binary.BigEndian.Uint64(padded[:])
}

func (r *reader) uint8(field string) uint8   { return uint8(r.word(field, 1)) }
func (r *reader) uint16(field string) uint16 { return uint16(r.word(field, 2)) }
func (r *reader) uint32(field string) uint32 { return uint32(r.word(field, 4)) }
func (r *reader) uint64(field string) uint64 { return r.word(field, 8) }
