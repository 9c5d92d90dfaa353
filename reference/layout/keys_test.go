package layout

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// The hash of "owner-lease\0owner-a" was computed with sha256sum.
func TestKeys(t *testing.T) {
	const ns = "app1:{zlink-location-v3}:opaque:"
	for _, c := range []struct{ name, got, want string }{
		{"record", RecordKey("app1", "owner-lease\x00owner-a"),
			ns + "2103785f1d2cf83bf4dcf0cca11bd6bdf72ae24838410fd9fbc72d1767a6545e"},
		{"empty prefix", SequenceKey(""), ":{zlink-location-v3}:opaque:sequence"},
		{"sequence", SequenceKey("app1"), ns + "sequence"},
		{"index", IndexKey("app1"), ns + "index"},
		{"map", MapKey("app1"), ns + "map"},
		{"cleanup", CleanupKey("app1"), ns + "cleanup"},
		{"scan", ScanKey("app1", "id"), ns + "scan:id"},
		{"snapshot-expiry", SnapshotExpiryKey("app1"), ns + "snapshot-expiry"},
		{"snapshot-boundary", SnapshotBoundaryKey("app1"), ns + "snapshot-boundary"},
		{"blob", BlobKey("app1", "a{b}:\x00ü"), "app1:{zlink-relocation-v1}:blob:a{b}:\x00ü"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, c.got, c.want)
		}
	}
}

func TestValidatePrefix(t *testing.T) {
	for prefix, ok := range map[string]bool{
		"": true, "app1": true, "a*?[b]:c": true, "ü\x00": true,
		"a{b": false, "a}b": false, "{zlink-location-v3}": false, "\xff": false,
	} {
		err := ValidatePrefix(prefix)
		if (err == nil) != ok {
			t.Errorf("ValidatePrefix(%q) = %v, want ok %v", prefix, err, ok)
		}
		if err != nil && spi.KindOf(err) != spi.KindArgument {
			t.Errorf("ValidatePrefix(%q) = kind %q, want argument", prefix, spi.KindOf(err))
		}
	}
}
