package layout_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
)

var sizes = []int{64, 1 << 20} // of the value, in bytes

func benchMember(size int) layout.Member {
	return layout.Member{
		Key: "authority\x00actor\x00user:42", Value: bytes.Repeat([]byte{0xa5}, size), Version: "42", ExpiresAt: 1700000000000,
	}
}

func BenchmarkEncodeMember(b *testing.B) {
	for _, size := range sizes {
		m := benchMember(size)
		b.Run(fmt.Sprintf("layout/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				layout.EncodeMember(nil, m)
			}
		})
		b.Run(fmt.Sprintf("msgpack/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			value := string(m.Value) // its EncodeBytes writes the bin family
			for b.Loop() {
				var out bytes.Buffer
				out.WriteByte(layout.Tag)
				e := msgpack.NewEncoder(&out)
				for _, err := range []error{
					e.EncodeArrayLen(5), e.EncodeString(m.Key), e.EncodeString(value), e.EncodeString(m.Version),
					e.EncodeUint(uint64(m.ExpiresAt)), e.EncodeBool(m.Tombstone),
				} {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkDecodeMember(b *testing.B) {
	for _, size := range sizes {
		raw := layout.EncodeMember(nil, benchMember(size))
		b.Run(fmt.Sprintf("layout/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := layout.DecodeMember(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("msgpack/%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				d := msgpack.NewDecoder(bytes.NewReader(raw[1:]))
				n, err := d.DecodeArrayLen()
				if err != nil || n != 5 {
					b.Fatal(n, err)
				}
				for range n {
					if _, err := d.DecodeInterface(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkRecordKey maps a logical key to its Redis key.
func BenchmarkRecordKey(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		layout.RecordKey("app1", "authority\x00actor\x00user:42")
	}
}
