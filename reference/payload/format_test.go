package payload

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// goldenData is 596 bytes whose CRC32C is the golden ed4efb5e: a counting
// pattern, and four bytes chosen for the checksum. The golden trailer and index
// depend on the data's length and checksum alone.
func goldenData(t testing.TB) []byte {
	t.Helper()
	data := make([]byte, 596)
	for i := range 592 {
		data[i] = byte(i)
	}
	copy(data[592:], "\x58\x80\xa5\xde")
	if got := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)); got != 0xed4efb5e {
		t.Fatalf("the golden data has CRC32C %08x, want ed4efb5e", got)
	}
	return data
}

func goldenIndex() Index {
	x := Index{Length: 596, CRC: 0xed4efb5e, Chunks: []Chunk{{"chunk-0", 596, 0xed4efb5e}}}
	for i := range x.InventoryDigest {
		x.InventoryDigest[i] = byte(i)
	}
	return x
}

func TestGoldenFrame(t *testing.T) {
	data := goldenData(t)
	raw, err := EncodeFrame(0, data)
	if err != nil {
		t.Fatal(err)
	}
	head := "5a4c544301" + "0000" + "0000025c" + "00000000" + "00000254" // body 604, order 0, data 596
	if got := hex.EncodeToString(raw[:19]); got != head {
		t.Errorf("head %s, want %s", got, head)
	}
	if got := hex.EncodeToString(raw[len(raw)-4:]); got != "49b7fd34" {
		t.Errorf("trailer %s, want 49b7fd34", got)
	}
	if len(raw) != 596+23 || !bytes.Equal(raw[19:19+596], data) {
		t.Errorf("frame has %d bytes, want %d around the data", len(raw), 596+23)
	}
	f, err := DecodeFrame(raw)
	if err != nil || f.Order != 0 || f.CRC != 0xed4efb5e || !bytes.Equal(f.Data, data) {
		t.Errorf("decoded order %d, CRC %08x, %v", f.Order, f.CRC, err)
	}
}

func TestGoldenIndex(t *testing.T) {
	raw, err := EncodeIndex(goldenIndex())
	if err != nil {
		t.Fatal(err)
	}
	want := "5a4c544d" + "01" + "0000" + "0000004b" + // ZLTM, version, flags, body 75
		"01" + "0000000000000254" + "ed4efb5e" + "20" +
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" +
		"00000001" + "00000000" + "0007" + hex.EncodeToString([]byte("chunk-0")) + "0000000000000254" + "ed4efb5e" +
		"cfa52388"
	if diff := cmp.Diff(want, hex.EncodeToString(raw)); diff != "" || len(raw) != 90 {
		t.Errorf("%d bytes, want 90 (-want +got):\n%s", len(raw), diff)
	}
	got, err := DecodeIndex(raw)
	if diff := cmp.Diff(goldenIndex(), got); diff != "" || err != nil {
		t.Errorf("decoded: %v (-want +got):\n%s", err, diff)
	}
}

func TestChecksum(t *testing.T) {
	// The check value of CRC-32C in RFC 3720 and the catalogues.
	if got := Checksum([]byte("123456789")); got != 0xe3069283 {
		t.Errorf("got %08x, want e3069283", got)
	}
	if got := Combine(Checksum([]byte("1234")), Checksum([]byte("56789")), 5); got != 0xe3069283 {
		t.Errorf("combined %08x, want e3069283", got)
	}
	if got := Combine(0xe3069283, 0, 0); got != 0xe3069283 {
		t.Errorf("with nothing appended %08x, want e3069283", got)
	}
}

// resealed returns raw with its checksum made right again after edit.
func resealed(raw []byte, edit func([]byte) []byte) []byte {
	raw = edit(bytes.Clone(raw))
	end := len(raw) - 4
	binary.BigEndian.PutUint32(raw[end:], crc32.Checksum(raw[:end], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

func set(at int, b ...byte) func([]byte) []byte {
	return func(raw []byte) []byte { copy(raw[at:], b); return raw }
}

func TestDecodeFrameRefuses(t *testing.T) {
	good, err := EncodeFrame(3, []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[20] ^= 1
	tests := []struct {
		name  string
		raw   []byte
		field string
		at    int
	}{
		{"empty", nil, "magic", 0},
		{"index magic", resealed(good, set(3, 'M')), "magic", 0},
		{"version 2", resealed(good, set(4, 2)), "format version", 4},
		{"flags", resealed(good, set(6, 1)), "flags", 5},
		{"short body", resealed(good, set(10, 12)), "body length", 7},
		{"little-endian body", resealed(good, set(7, 13, 0, 0, 0)), "body length", 7},
		{"truncated", good[:len(good)-1], "body length", 7},
		{"data length beyond the end", resealed(good, set(18, 6)), "data", 19},
		{"data length before the end", resealed(good, set(18, 4)), "end", 23},
		{"huge data length", resealed(good, set(15, 255)), "data length", 15},
		{"altered data", flipped, "checksum", 24},
	}
	for _, tt := range tests {
		_, err := DecodeFrame(tt.raw)
		checkFormat(t, tt.name, err, "chunk frame", tt.field, tt.at)
	}
	if _, err := EncodeFrame(0, make([]byte, spi.MaxChunkBytes+1)); spi.KindOf(err) != spi.KindArgument {
		t.Errorf("chunk of 64 MiB + 1: %v, want an argument error", err)
	}
}

func TestDecodeIndexRefuses(t *testing.T) {
	two := Index{Length: 7, CRC: Checksum([]byte("1234567")), Chunks: []Chunk{
		{"a", 4, Checksum([]byte("1234"))}, {"b", 3, Checksum([]byte("567"))}}}
	good, err := EncodeIndex(two)
	if err != nil {
		t.Fatal(err)
	}
	const first = 61 // offset of the first chunk's entry: 18 bytes and the reference
	flipped := bytes.Clone(good)
	flipped[30] ^= 1
	tests := []struct {
		name  string
		raw   []byte
		field string
		at    int
	}{
		{"chunk magic", resealed(good, set(3, 'C')), "magic", 0},
		{"logical version", resealed(good, set(11, 2)), "logical version", 11},
		{"total length", resealed(good, set(19, 8)), "total length", 11},
		{"total checksum", resealed(good, set(20, good[20]^1)), "payload checksum", 20},
		{"digest of 31", resealed(good, set(24, 31)), "digest length", 24},
		{"no chunk", resealed(good, set(60, 0)), "chunk count", 57},
		{"4097 chunks", resealed(good, set(59, 0x10, 0x01)), "chunk count", 57},
		{"order 1 first", resealed(good, set(first+3, 1)), "chunk 0's order", first},
		{"empty reference", resealed(good, set(first+5, 0)), "chunk 1's order", first + 18},
		{"same reference", resealed(good, set(first+6+19, 'a')), "chunk 1's reference", 11},
		{"chunk length", resealed(good, set(first+14, 5)), "total length", 11},
		{"unequal chunks", resealed(good, set(first+14, 2)), "chunk 1's length", 11},
		{"chunk checksum", resealed(good, set(first+15, ^good[first+15])), "payload checksum", 20},
		{"flipped digest", flipped, "checksum", len(good) - 4},
		{"one chunk more than counted", resealed(good, set(60, 1)), "end", first + 19},
	}
	for _, tt := range tests {
		_, err := DecodeIndex(tt.raw)
		checkFormat(t, tt.name, err, "leading index", tt.field, tt.at)
	}
}

func checkFormat(t *testing.T, name string, err error, format, field string, at int) {
	t.Helper()
	var e *FormatError
	if !errors.As(err, &e) || e.Format != format || e.Field != field || e.Offset != at {
		t.Errorf("%s: got %v, want a %s error in %s at byte %d", name, err, format, field, at)
	}
}

func TestEncodeIndexRefuses(t *testing.T) {
	chunks := func(n int, length int64) []Chunk {
		out := make([]Chunk, n)
		for i := range out {
			out[i] = Chunk{Reference: spi.Reference("c" + string(rune('0'+i%10)) + strings.Repeat("x", i/10)), Length: length}
		}
		return out
	}
	for name, x := range map[string]Index{
		"no chunk":         {},
		"4097 chunks":      {Length: 4097, Chunks: chunks(4097, 1)},
		"64 MiB and 1":     {Length: spi.MaxChunkBytes + 1, Chunks: chunks(1, spi.MaxChunkBytes+1)},
		"wrong total":      {Length: 3, Chunks: chunks(2, 1)},
		"long reference":   {Length: 1, Chunks: []Chunk{{Reference: spi.Reference(strings.Repeat("r", 4097)), Length: 1}}},
		"no UTF-8":         {Length: 1, Chunks: []Chunk{{Reference: "\xff", Length: 1}}},
		"empty chunk":      {Length: 1, Chunks: []Chunk{{"a", 1, 0}, {"b", 0, 0}}},
		"last is longer":   {Length: 3, Chunks: []Chunk{{"a", 1, 0}, {"b", 2, 0}}},
		"middle is short":  {Length: 5, Chunks: []Chunk{{"a", 2, 0}, {"b", 1, 0}, {"c", 2, 0}}},
		"negative length":  {Length: -1, Chunks: []Chunk{{"a", -1, 0}}},
		"reference twice":  {Length: 2, Chunks: []Chunk{{"a", 1, 0}, {"a", 1, 0}}},
		"reference is nil": {Length: 1, Chunks: []Chunk{{"", 1, 0}}},
	} {
		if _, err := EncodeIndex(x); spi.KindOf(err) != spi.KindArgument {
			t.Errorf("%s: %v, want an argument error", name, err)
		}
	}
	largest := Index{Length: spi.MaxPayloadBytes, Chunks: chunks(4096, spi.MaxChunkBytes)}
	if _, err := EncodeIndex(largest); err != nil {
		t.Errorf("256 GiB in 4096 chunks: %v", err)
	}
}

// FuzzDecodeFrame: what is accepted is written back to the same bytes. The
// checksum is made right as well, or nothing behind it would be reached.
func FuzzDecodeFrame(f *testing.F) {
	for _, data := range []string{"", "x", strings.Repeat("ab", 40)} {
		raw, err := EncodeFrame(uint32(len(data)), []byte(data))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, raw := range withSeal(raw) {
			frame, err := DecodeFrame(raw)
			if err != nil {
				continue
			}
			back, err := EncodeFrame(frame.Order, frame.Data)
			if err != nil || !bytes.Equal(back, raw) {
				t.Fatalf("%x was written back as %x, %v", raw, back, err)
			}
		}
	})
}

// FuzzDecodeIndex: as FuzzDecodeFrame.
func FuzzDecodeIndex(f *testing.F) {
	for _, x := range []Index{
		goldenIndex(),
		{Chunks: []Chunk{{"empty", 0, 0}}},
		{Length: 7, CRC: Checksum([]byte("1234567")),
			Chunks: []Chunk{{"a", 4, Checksum([]byte("1234"))}, {"b", 3, Checksum([]byte("567"))}}},
	} {
		raw, err := EncodeIndex(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, raw := range withSeal(raw) {
			x, err := DecodeIndex(raw)
			if err != nil {
				continue
			}
			back, err := EncodeIndex(x)
			if err != nil || !bytes.Equal(back, raw) {
				t.Fatalf("%x was written back as %x, %v", raw, back, err)
			}
		}
	})
}

func withSeal(raw []byte) [][]byte {
	if len(raw) < 4 {
		return [][]byte{raw}
	}
	return [][]byte{raw, resealed(raw, func(b []byte) []byte { return b })}
}
