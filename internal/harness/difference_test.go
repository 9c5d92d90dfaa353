package harness

import (
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
)

func TestDifferenceShowsWhatDiffers(t *testing.T) {
	long := []byte(strings.Repeat("v", 1000))
	other := append([]byte(nil), long...)
	other[700] = 'w'
	value := func(bytes []byte, version string, expires spi.Millis) spi.Value {
		return spi.Value{Bytes: bytes, Version: spi.Version(version), ExpiresAt: expires}
	}
	for _, test := range []struct {
		name      string
		want, got spi.Value
		text      string
	}{
		{"the same", value(long, "1", 5), value(long, "1", 5), ""},
		{"a byte", value([]byte("a"), "1", 0), value([]byte("b"), "1", 0), `the bytes "b", expected "a"`},
		{"the version and the expiry", value(nil, "1", 5), value(nil, "2", 6),
			`the version "2", expected "1" and the expiry 6, expected 5`},
		{"deep in a long value", value(long, "1", 0), value(other, "1", 0),
			"the bytes (1000 bytes, 7676767676767676…), expected (1000 bytes, 7676767676767676…) " +
				"(they differ from byte 700 on: 7776767676767676, expected 7676767676767676)"},
	} {
		if got := Difference(test.want, test.got); got != test.text {
			t.Errorf("%s: %q, want %q", test.name, got, test.text)
		}
	}
}
