package spicases

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func valueCases() []harness.Case {
	return []harness.Case{
		locationCase("values/key-length", "Keys of 1 to 1,024 bytes work, however many characters that is.", "L3.key-length",
			keyLength),
		locationCase("values/key-too-long", "An empty key and one of 1,025 bytes are argument errors, however "+
			"many characters that is.", "L3.key-length", keyTooLong),
		locationCase("values/value-bytes", "Any bytes come back as they were written.", "L3.value-bytes L2.observation",
			valueBytes),
		locationCase("values/value-empty", "An empty value is a value.", "L3.value-size", valueEmpty),
		locationCase("values/value-largest", "A value of 1 MiB comes back as it was written.", "L3.value-size L3.value-bytes",
			valueLargest),
		locationCase("values/value-too-large", "A value of 1 MiB and one byte is an argument error.", "L3.value-size",
			valueTooLarge),
		locationCase("values/durable", "A value without retention stays until it is deleted.", "L3.value-durable", durable),
		locationCase("values/many-keys", "Thousands of keys keep their own values.", "L3.key-identity L3.value-bytes", manyKeys),
		locationCase("values/version-form", "Versions are 1 to 4,096 bytes of UTF-8.", "L3.version-form", versionForm),
		locationCase("values/version-fresh", "No version of a key is issued twice, whatever happens to the key between.",
			"L3.version-fresh", versionFresh),
		locationCase("values/version-fresh-instances",
			"Instances that write one key at the same time never issue the same version.", "L3.version-fresh",
			versionFreshInstances),
		locationCase("values/version-aba", "An old version does not hold again when the same bytes return.",
			"L3.version-fresh L4.version", versionABA),
		locationCase("values/key-identity-text", "Keys that differ in case, normalization or space are different keys.",
			"L3.key-identity", keyIdentity(casedKeys, composedKeys, spacedKeys)),
		locationCase("values/key-identity-bytes", "Keys that differ in NUL and other control characters are different keys.",
			"L3.key-identity", keyIdentity(nulKeys)),
		locationCase("values/key-identity-pattern", "Characters of patterns and separators are ordinary in keys.",
			"L3.key-identity", keyIdentity(patternKeys, separatedKeys, numberKeys)),
	}
}

// A key is 1 to 1,024 bytes of UTF-8. Texts of the greatest length, by the
// number of bytes that a character takes.
var longestKeys = []string{
	strings.Repeat("k", spi.MaxKeyBytes),
	strings.Repeat("é", spi.MaxKeyBytes/2),
	strings.Repeat("한", spi.MaxKeyBytes/3) + "k",
	strings.Repeat("😀", spi.MaxKeyBytes/4),
}

func keyLength(t *harness.T) {
	l := t.Location()
	for _, text := range append([]string{"k", "é", "한", "😀", "\x00", " "}, longestKeys...) {
		k := spi.Key(text)
		v := l.MustPut(k, []byte(text), nil)
		same(t, "L3.key-length", "after a Put", records{k: {Bytes: []byte(text), Version: v}}, look(l, k))
		l.MustApply(write(given(ifVersion(k, v)), del(k)))
		l.MustMiss(k)
	}
}

// The bound counts bytes: 513 characters can be too long, and one byte more
// than 1,024 always is.
func keyTooLong(t *harness.T) {
	l := t.Location()
	tooLong := []spi.Key{""}
	for _, text := range longestKeys {
		tooLong = append(tooLong, spi.Key(text+"k"))
	}
	for _, k := range tooLong {
		what := fmt.Sprintf("a key of %d bytes and %d characters in ", len(k), utf8.RuneCountInString(string(k)))
		_, err := l.Read(t.Context(), k)
		t.ErrorKind("L3.key-length", what+"a read", err, spi.KindArgument)
		refused(t, "L3.key-length", what+"a Missing condition", l, write(given(ifMissing(k)), put("beside", "")))
		refused(t, "L3.key-length", what+"a Version condition", l,
			write(given(ifVersion(k, "1")), put("beside", "")))
		refused(t, "L3.key-length", what+"a Put", l, write(nil, put("beside", ""), put(k, "")))
		refused(t, "L3.key-length", what+"a Delete", l, write(nil, put("beside", ""), del(k)))
	}
	l.MustMiss("beside")
}

// Keys are compared byte for byte: nothing is normalized, folded, trimmed or
// taken for a pattern.
var (
	casedKeys = []spi.Key{"room", "Room", "ROOM", "ärger", "Ärger", "straße", "strasse", "STRASSE", "k", "K",
		"\u212a" /* Kelvin */, "i", "I", "ı", "İ"}
	composedKeys = []spi.Key{"caf\u00e9", "cafe\u0301", "\u1e9b\u0323", "\u1e9b", "한", "\u1112\u1161\u11ab", "ﬁ", "fi", "Ａ", "A",
		"\ufeffA", "A\u200b"}
	spacedKeys    = []spi.Key{"room", " room", "room ", " room ", "room\t", "room\n", "room\r\n", "\u00a0room", " ", "  ", "\t"}
	nulKeys       = []spi.Key{"room", "room\x00", "room\x00a", "room\x00b", "\x00room", "\x00", "\x00\x00", "room\x01"}
	patternKeys   = []spi.Key{"*", "?", "[a]", "a", "**", "ro?m", "room", "r*", "\\*", "\\", "%", "_", "^a", "[^a]"}
	separatedKeys = []spi.Key{"{a}", "a", "{a", "a}", "{}", "{a}b", "a:b", "a::b", ":a:b", "a/b", "a/../a/b", "a\\b", "a|b",
		"a,b", "a'b", "a\"b", "%00", "%2F"}
	numberKeys = []spi.Key{"1", "01", "1.0", "1e0", "+1", "0x1", "-0", "0", "nil", "null", "false"}
)

func keyIdentity(groups ...[]spi.Key) func(*harness.T) {
	return func(t *harness.T) {
		for _, keys := range groups {
			keysApart(t, keys)
		}
	}
}

// keysApart puts and deletes each key and looks at all the others.
func keysApart(t *harness.T, keys []spi.Key) {
	l := t.Location()
	puts := make([]spi.Put, len(keys))
	for i, k := range keys {
		puts[i] = put(k, fmt.Sprintf("%d of %+q", i, k))
	}
	want := seed(l, puts...)
	same(t, "L3.key-identity", "after a Put of each key", want, look(l, keys...))
	for _, k := range keys {
		// A Delete touches no other key.
		l.MustDelete(k)
		delete(want, k)
		if !same(t, "L3.key-identity", fmt.Sprintf("after the Delete of %+q", k), want, look(l, keys...)) {
			return
		}
	}
	for _, k := range keys {
		// A Missing condition looks at no other key, a Put changes no other.
		a := l.MustApply(write(given(ifMissing(k)), put(k, string(k))))
		want[k] = spi.Value{Bytes: []byte(k), Version: versionsOf(a)[k]}
	}
	same(t, "L3.key-identity", "after a Put of each key where it was missing", want, look(l, keys...))
	l.MustDelete(keys...)
}

// Value: bytes, at most 1 MiB, unchanged after the commit. The lengths are
// where length prefixes change their own size.
func valueBytes(t *harness.T) {
	l := t.Location()
	values := []string{
		"", "\x00", "\x00\x00", "a\x00b", "\xff", "\xc3", "\xc3\x28", "\xed\xa0\x80", "\xf5\x80", "\xef\xbb\xbf", "\r\n", "\n",
		" ", " a ", "\t",
		string(harness.EveryByte()), "0", "01", "1e5", "-0", "9007199254740993", "12345678901234567891", "0.1234567890123456789",
		"nil", "null", "true", "{}", `"`, `\`, `\u0000`, "caf\u00e9", "cafe\u0301", "\x01\x95\xa0", "AAEC", "$1\r\na\r\n",
	}
	for _, n := range []int{31, 32, 127, 128, 255, 256, 32767, 32768, 65535, 65536} {
		values = append(values, strings.Repeat("\xe9", n))
	}
	puts := make([]spi.Put, len(values))
	for i, k := range numbered("v", len(values)) {
		puts[i] = put(k, values[i])
	}
	want := seed(l, puts...)
	for _, p := range puts {
		f := l.MustFind(p.Key)
		t.EqualBytes("L3.value-bytes", fmt.Sprintf("the value %.40q", p.Bytes), p.Bytes, f.Value.Bytes)
		t.Equal("L2.observation", "the version read", want[p.Key].Version, f.Value.Version)
	}
}

// A value holds 0 to 1 MiB: an empty one is there, and not missing.
func valueEmpty(t *harness.T) {
	l := t.Location()
	v := l.MustPut("k", nil, nil)
	same(t, "L3.value-size", "after a Put of no bytes", records{"k": {Version: v}}, look(l, "k"))
	l.MustConflict(write(given(ifMissing("k")), put("k", "other")))
	l.MustApply(write(given(ifVersion("k", v)), put("k", "full")))
	v = l.MustPut("k", []byte{}, nil)
	same(t, "L3.value-size", "after bytes were replaced by none", records{"k": {Version: v}}, look(l, "k"))
}

func valueLargest(t *harness.T) {
	l := t.Location()
	for _, n := range []int{spi.MaxValueBytes - 1, spi.MaxValueBytes} {
		want := t.RandomBytes(n)
		l.MustPut("k", want, nil)
		t.EqualBytes("L3.value-size", fmt.Sprintf("the value of %d bytes", n), want, l.MustFind("k").Value.Bytes)
	}
}

func valueTooLarge(t *harness.T) {
	l := t.Location()
	v := l.MustPut("k", []byte("old"), nil)
	refused(t, "L3.value-size", "a value of 1 MiB and one byte", l,
		write(nil, put("beside", ""), spi.Put{Key: "k", Bytes: make([]byte, spi.MaxValueBytes+1)}))
	same(t, "L3.value-size", "after the refused Put", records{"k": {Bytes: []byte("old"), Version: v}}, look(l, "k", "beside"))
}

// With no expiry, a value is kept until an explicit Delete: also where the key
// had a retention before, of which the end then means nothing.
func durable(t *harness.T) {
	l := t.Location()
	short := seed(l, putFor("renewed", "old", 100), putFor("expired", "old", 100))
	want := seed(l, put("renewed", "new"), put("plain", "value"))
	awaitExpiry(t, max(short["renewed"].ExpiresAt, short["expired"].ExpiresAt))
	want["expired"] = seed(l, put("expired", "new"))["expired"]
	same(t, "L3.value-durable", "after the retention of the values before", want, look(l, "renewed", "expired", "plain"))
	l.MustDelete("renewed", "expired", "plain")
	same(t, "L3.value-durable", "after the Delete", records{}, look(l, "renewed", "expired", "plain"))
}

func manyKeys(t *harness.T) {
	l := t.Location()
	var puts []spi.Put
	for _, k := range numbered("key-", 3000) {
		puts = append(puts, put(k, "value of "+string(k)))
	}
	want := seed(l, puts...)
	for range 150 {
		k := puts[t.Rand().IntN(len(puts))].Key
		same(t, "L3.key-identity", "one of 3,000 keys", records{k: want[k]}, look(l, k))
	}
}
