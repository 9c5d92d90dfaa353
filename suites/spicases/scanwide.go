package spicases

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// wideScanCases: scans of more records than a few pages, and of the longest
// keys.
func wideScanCases() []harness.Case {
	return []harness.Case{
		unhurried(locationCase("scan/wide", "A scan of 12,288 records shows them all.", "L5.complete L5.limit L5.cursor",
			func(t *harness.T) { scanWide(t, wideAll) })),
		unhurried(locationCase("scan/wide-deleted", "A scan finds the few records that live among 12,000 deleted ones.",
			"L5.complete L5.limit L5.cursor",
			func(t *harness.T) { scanWide(t, wideDeleted) })),
		unhurried(locationCase("scan/wide-expired", "A scan finds the few records that live among 12,000 expired ones.",
			"L5.complete L5.limit L5.cursor",
			func(t *harness.T) { scanWide(t, wideExpired) })),
		locationCase("scan/prefix-half-pair", "A prefix with half of a surrogate pair stands for no other text.", "L5.prefix",
			scanPrefixText),
		locationCase("cursor/prefix-refused",
			"A prefix of 1,025 bytes is an argument error also with a cursor, whatever cursor it is.",
			"L5.prefix L5.snapshot L5.complete", cursorPrefixRefused),
		locationCase("cursor/long",
			"Cursors of scans of the longest keys have at most 4,096 bytes, whatever characters the keys hold.",
			"L5.cursor L5.complete L5.limit", cursorLong),
	}
}

const wideBatches = 6 // of the most keys that a batch may have

type wideKind int

const (
	wideAll wideKind = iota
	wideDeleted
	wideExpired
)

// scanWide looks for an end that comes after some number of index rows instead
// of after the last record.
func scanWide(t *harness.T, kind wideKind) {
	l := t.Location()
	keys := numbered("k", wideBatches*spi.MaxBatchKeys)
	lives := func(i int) bool { return kind == wideAll || i%3000 == 1 || i >= len(keys)-3 }
	want := records{}
	var expiry spi.Millis
	for from := 0; from < len(keys); from += spi.MaxBatchKeys {
		batch := keys[from : from+spi.MaxBatchKeys]
		puts := make([]spi.Put, len(batch))
		for i, k := range batch {
			puts[i] = put(k, "v")
			if kind == wideExpired && !lives(from+i) {
				puts[i].Retention = spi.For(brief)
			}
		}
		stored := seed(l, puts...)
		var gone []spi.Mutation
		for i, k := range batch {
			if lives(from + i) {
				want[k] = stored[k]
				continue
			}
			gone = append(gone, spi.Delete{Key: k})
			expiry = max(expiry, stored[k].ExpiresAt)
		}
		if kind == wideDeleted {
			l.MustApply(write(nil, gone...))
		}
	}
	awaitExpiry(t, expiry)
	same(t, "L5.complete", fmt.Sprintf("a scan over %d records of which %d live", len(keys), len(want)), want, paged(t, l, "k",
		1000, pageForm(t, 1000)))
}

// longCharacters are characters of which an escaped or encoded form is longer.
var longCharacters = []string{"\x01", "\x00", "\x7f", "\n", `"`, `\`, "/", "<", " ", "%", "+", "é", "한", "😀"}

// Cursor: 1 to 4,096 bytes, whatever the keys and the prefix are made of.
func cursorLong(t *harness.T) {
	for i, text := range longCharacters {
		t.Apart(func() {
			l := t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix(fmt.Sprint(i))})
			prefix := strings.Repeat(text, (spi.MaxKeyBytes-5)/len(text))
			var puts []spi.Put
			for _, k := range numbered(prefix, 5) {
				puts = append(puts, put(k, "v"))
			}
			want := seed(l, puts...)
			for _, p := range []string{prefix, ""} {
				same(t, "L5.complete", fmt.Sprintf("the scan of keys full of %q with a prefix of %d bytes", text, len(p)), want,
					paged(t, l, p, 2, pageForm(t, 2)))
			}
		})
	}
}

// A cursor does not excuse the prefix from its bound.
func cursorPrefixRefused(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "value"), put("b", "value"), put("c", "value"))
	first := l.MustPage(spi.ScanRequest{Limit: 1})
	for _, c := range []*spi.Cursor{first.Next, cursor("unknown")} {
		if c == nil {
			t.Fatalf("L5.snapshot", "the first page of 1 is the last one of a scan of 3 records")
		}
		for _, prefix := range longestKeys {
			_, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: prefix + "k", Cursor: c, Limit: 1})
			t.ErrorKind("L5.prefix", fmt.Sprintf("a prefix of %d bytes and %d characters with a cursor",
				len(prefix)+1, utf8.RuneCountInString(prefix)+1), err, spi.KindArgument)
		}
	}
	same(t, "L5.snapshot", "the scan that was open meanwhile", want, once(t, l.MustFinish("", 1, first)))
}

// Text that is no UTF-8 begins no key: a provider that replaces the bad part
// scans for another prefix.
func scanPrefixText(t *harness.T) {
	l := t.Location()
	for _, other := range []string{"\ufffd", "\ufffd\ufffd\ufffd", "?", "???", ""} {
		seed(l, put(spi.Key("a"+other+"b"), "value"), put(spi.Key("a"+other+"bc"), "value"))
	}
	for _, prefix := range []string{surrogate, surrogate[:4]} {
		r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: prefix, Limit: 100})
		if err != nil {
			t.ErrorKind("L5.prefix", "a prefix with half of a surrogate pair", err, spi.KindArgument)
			continue
		}
		page, _ := r.(spi.Page)
		for _, i := range page.Items {
			t.Failf("L5.prefix", "a scan for the prefix %+q shows %+q", prefix, i.Key)
		}
	}
}
