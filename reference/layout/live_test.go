package layout_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// pack lets a live Redis's Lua write a member (L9.member).
const pack = `return '\1' .. cmsgpack.pack({ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'})`

func TestEncodesAsRedisDoes(t *testing.T) {
	client := redistest.Client(t, redistest.Start(t))
	text := func(n int) string { return strings.Repeat("x", n) }
	var members []layout.Member
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536, 1 << 20} {
		members = append(members,
			layout.Member{Key: text(n), Value: []byte{}, Version: "1"},
			layout.Member{Key: "k", Value: bytes.Repeat([]byte{0xff}, n), Version: "1"},
			layout.Member{Key: "k", Value: []byte("v"), Version: text(n), Tombstone: true})
	}
	for _, at := range []spi.Millis{0, 1, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, 1700000000000, 1e14, 1 << 53} {
		members = append(members, layout.Member{Key: "k\x00ü", Value: []byte{0, 255}, Version: "1", ExpiresAt: at})
	}
	for _, m := range members {
		name := fmt.Sprintf("key=%d,value=%d,version=%d,expiresAt=%d", len(m.Key), len(m.Value), len(m.Version), m.ExpiresAt)
		t.Run(name, func(t *testing.T) {
			tombstone := "0"
			if m.Tombstone {
				tombstone = "1"
			}
			want, err := client.Eval(context.Background(), pack, nil, m.Key, m.Value, m.Version, int64(m.ExpiresAt),
				tombstone).Text()
			if err != nil {
				t.Fatal(err)
			}
			got := layout.EncodeMember(nil, m)
			if string(got) != want {
				t.Fatalf("got %.60x, Redis wrote %.60x", got, want)
			}
			back, err := layout.DecodeMember([]byte(want))
			if err != nil {
				t.Fatal(err)
			}
			if back.Key != m.Key || !bytes.Equal(back.Value, m.Value) || back.Version != m.Version ||
				back.ExpiresAt != m.ExpiresAt || back.Tombstone != m.Tombstone {
				t.Error("decoded member differs")
			}
		})
	}
}
