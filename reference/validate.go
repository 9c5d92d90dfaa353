package reference

import (
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// maxRetentionMillis keeps the clock plus a retention below 2^53, up to which a
// number of Lua is exact (L4.retention).
const maxRetentionMillis = 1 << 52

// validateText checks the length in bytes and the encoding of a text.
func validateText(what, text string, least, most int) error {
	if len(text) < least || len(text) > most {
		return spi.Argument("%s is %d bytes long, want %d..%d", what, len(text), least, most)
	}
	if !utf8.ValidString(text) {
		return spi.Argument("%s is not valid UTF-8", what)
	}
	return nil
}

func validateKey(key spi.Key) error {
	return validateText("key", string(key), 1, spi.MaxKeyBytes)
}

func validateReference(ref spi.Reference) error {
	return validateText("reference", string(ref), 1, spi.MaxReferenceBytes)
}

func validateSize(what string, bytes []byte, most int) error {
	if len(bytes) > most {
		return spi.Argument("%s is %d bytes long, want at most %d", what, len(bytes), most)
	}
	return nil
}

// retentionArgument is the retention in whole milliseconds, rounded up so that
// a fraction never becomes nothing (L4.retention, R4.retention).
func retentionArgument(retention spi.Retention) (string, error) {
	ms := math.Ceil(float64(retention))
	if !(ms > 0 && ms <= maxRetentionMillis) { // NaN is neither
		return "", spi.Argument("retention of %v ms, want more than 0 and at most 2^52", float64(retention))
	}
	return strconv.FormatInt(int64(ms), 10), nil
}
