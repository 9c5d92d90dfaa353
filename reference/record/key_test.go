package record

import (
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
)

func TestKeys(t *testing.T) {
	rid := []byte{1, 2, 3, 4}
	type key = func() (spi.Key, error)
	// The key vectors of the golden fixture (L9.golden).
	tests := []struct {
		want string
		key  key
	}{
		{"mesh-node\x00main\x0001020304", func() (spi.Key, error) { return MeshNodeKey("main", rid) }},
		{"owner-lease\x00owner-a", func() (spi.Key, error) { return OwnerLeaseKey("owner-a") }},
		{"client-server\x00chat-channel\x0001020304", func() (spi.Key, error) { return ClientServerKey("chat-channel", rid) }},
		{"fanout-publisher\x00chat-channel\x0001020304",
			func() (spi.Key, error) { return FanoutPublisherKey("chat-channel", rid) }},
		{"authority\x00actor\x00user:42", func() (spi.Key, error) { return AuthorityKey(ActorAuthority, "user:42") }},
		{"authority\x00spot\x00room:1", func() (spi.Key, error) { return AuthorityKey(SpotAuthority, "room:1") }},
		{"creation-terminal\x0001020304\x007\x00000000000000002a0000000000000001", func() (spi.Key, error) {
			return CreationTerminalKey(rid, 7, OperationID{High: 42, Low: 1})
		}},
		{"mesh-node\x00m\x00ff0a", func() (spi.Key, error) { return MeshNodeKey("m", []byte{0xff, 0x0a}) }},
		{"owner-lease\x00" + strings.Repeat("o", 1024-12),
			func() (spi.Key, error) { return OwnerLeaseKey(strings.Repeat("o", 1024-12)) }},
	}
	for _, tt := range tests {
		got, err := tt.key()
		if err != nil || string(got) != tt.want {
			t.Errorf("got %q, %v; want %q", got, err, tt.want)
		}
	}
}

func TestKeysRefuse(t *testing.T) {
	rid := []byte{1}
	tests := []struct {
		name, want string
		key        func() (spi.Key, error)
	}{
		{"NUL in a part", "owner ID contains a NUL", func() (spi.Key, error) { return OwnerLeaseKey("a\x00b") }},
		{"empty part", "mesh name is empty", func() (spi.Key, error) { return MeshNodeKey("", rid) }},
		{"invalid UTF-8", "channel name is not valid UTF-8", func() (spi.Key, error) { return ClientServerKey("\xff", rid) }},
		{"no routing ID", "routing ID has 0 bytes", func() (spi.Key, error) { return FanoutPublisherKey("c", nil) }},
		{"long routing ID", "routing ID has 256 bytes", func() (spi.Key, error) { return MeshNodeKey("m", make([]byte, 256)) }},
		{"unknown kind", `authority kind is "node"`, func() (spi.Key, error) { return AuthorityKey("node", "x") }},
		{"generation 0", "host generation is 0", func() (spi.Key, error) { return CreationTerminalKey(rid, 0, OperationID{}) }},
		{"1025 bytes", "key has 1025 bytes", func() (spi.Key, error) { return OwnerLeaseKey(strings.Repeat("o", 1025-12)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.key()
			if got != "" || spi.KindOf(err) != spi.KindArgument || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v; want an argument error with %q", got, err, tt.want)
			}
		})
	}
}

func BenchmarkKey(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := AuthorityKey(ActorAuthority, "user:42"); err != nil {
			b.Fatal(err)
		}
	}
}
