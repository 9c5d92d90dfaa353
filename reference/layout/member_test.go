package layout

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// The golden fixture's owner lease tombstone.
func TestGoldenTombstone(t *testing.T) {
	const golden = "0195b36f776e65722d6c65617365006f776e65722d61a0a2343300c3"
	m := Member{Key: "owner-lease\x00owner-a", Value: []byte{}, Version: "43", Tombstone: true}
	if got := hex.EncodeToString(EncodeMember(nil, m)); got != golden {
		t.Errorf("encoded %s, want %s", got, golden)
	}
	raw, _ := hex.DecodeString(golden)
	got, err := DecodeMember(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Error(diff)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Member{
			Key:       rapid.String().Draw(t, "key"),
			Value:     rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value"),
			Version:   rapid.String().Draw(t, "version"),
			ExpiresAt: spi.Millis(rapid.Int64Min(0).Draw(t, "expiresAt")),
			Tombstone: rapid.Bool().Draw(t, "tombstone"),
		}
		got, err := DecodeMember(EncodeMember(nil, m))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestEncodeAppendsWithOneAllocation(t *testing.T) {
	m := Member{Key: "k", Value: make([]byte, 1<<20), Version: "1"}
	if got := EncodeMember([]byte("head"), m); !bytes.HasPrefix(got, []byte("head\x01\x95\xa1k\xdb")) {
		t.Errorf("starts with %q", got[:10])
	}
	if n := testing.AllocsPerRun(10, func() { EncodeMember(nil, m) }); n != 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}

func TestDecodeRefuses(t *testing.T) {
	long := strings.Repeat("x", 32)
	for _, c := range []struct {
		name, raw string
		offset    int
		field     string
	}{
		{"empty", "", 0, "tag"},
		{"unknown tag", "\x02\x95\xa1k\xa1v\xa11\x00\xc2", 0, "tag"},
		{"four fields", "\x01\x94\xa1k\xa1v\xa11\x00", 1, "array"},
		{"six fields", "\x01\x96\xa1k\xa1v\xa11\x00\xc2\xc2", 1, "array"},
		{"array16", "\x01\xdc\x00\x05\xa1k\xa1v\xa11\x00\xc2", 1, "array"},
		{"bin key", "\x01\x95\xc4\x01k\xa1v\xa11\x00\xc2", 2, "key"},
		{"bin value", "\x01\x95\xa1k\xc4\x01v\xa11\x00\xc2", 4, "value"},
		{"number as version", "\x01\x95\xa1k\xa1v\x01\x00\xc2", 6, "version"},
		{"wide str8", "\x01\x95\xd9\x01k\xa1v\xa11\x00\xc2", 2, "key"},
		{"wide str16", "\x01\x95\xa1k\xda\x00\x20" + long + "\xa11\x00\xc2", 4, "value"},
		{"wide str32", "\x01\x95\xa1k\xdb\x00\x00\x00\x20" + long + "\xa11\x00\xc2", 4, "value"},
		{"str cut", "\x01\x95\xa1k\xa2v", 4, "value"},
		{"str32 header cut", "\x01\x95\xa1k\xdb\xff\xff", 4, "value"},
		{"huge str32", "\x01\x95\xa1k\xdb\xff\xff\xff\xff", 4, "value"},
		{"negative expiry", "\x01\x95\xa1k\xa1v\xa11\xff\xc2", 8, "expiresAtMs"},
		{"signed expiry", "\x01\x95\xa1k\xa1v\xa11\xd3\x00\x00\x01\x00\x00\x00\x00\x00\xc2", 8, "expiresAtMs"},
		{"float expiry", "\x01\x95\xa1k\xa1v\xa11\xcb\x00\x00\x00\x00\x00\x00\x00\x00\xc2", 8, "expiresAtMs"},
		{"wide uint8", "\x01\x95\xa1k\xa1v\xa11\xcc\x7f\xc2", 8, "expiresAtMs"},
		{"wide uint64", "\x01\x95\xa1k\xa1v\xa11\xcf\x00\x00\x00\x00\xff\xff\xff\xff\xc2", 8, "expiresAtMs"},
		{"uint64 beyond int64", "\x01\x95\xa1k\xa1v\xa11\xcf\x80\x00\x00\x00\x00\x00\x00\x00\xc2", 8, "expiresAtMs"},
		{"nil expiry", "\x01\x95\xa1k\xa1v\xa11\xc0\xc2", 8, "expiresAtMs"},
		{"integer tombstone", "\x01\x95\xa1k\xa1v\xa11\x00\x00", 9, "tombstone"},
		{"no tombstone", "\x01\x95\xa1k\xa1v\xa11\x00", 9, "tombstone"},
		{"trailing byte", "\x01\x95\xa1k\xa1v\xa11\x00\xc2\x00", 10, "end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := DecodeMember([]byte(c.raw))
			var f *FormatError
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a *FormatError", err)
			}
			if f.Offset != c.offset || f.Field != c.field {
				t.Errorf("got byte %d, field %s (%v); want byte %d, field %s", f.Offset, f.Field, err, c.offset, c.field)
			}
		})
	}
}

func FuzzDecodeMember(f *testing.F) {
	f.Add([]byte("\x01\x95\xa1k\xa1v\xa11\x00\xc2"))
	f.Add(EncodeMember(nil, Member{Key: strings.Repeat("k", 256), Value: make([]byte, 32), Version: "9", ExpiresAt: 1 << 40}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := DecodeMember(raw)
		if err != nil {
			return
		}
		if again := EncodeMember(nil, m); !bytes.Equal(again, raw) {
			t.Errorf("decoded %x, encoded again %x", raw, again)
		}
	})
}
