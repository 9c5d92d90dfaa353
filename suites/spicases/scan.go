package spicases

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func scanCases() []harness.Case {
	cases := []harness.Case{
		unhurried(locationCase("scan/complete", "Pages of 7 and of 1,000 show every record once.", "L5.complete L5.limit",
			scanComplete)),
		locationCase("scan/complete-small-pages", "Pages of 1 and of 2 show every record once.", "L5.complete L5.limit",
			scanCompleteSmall),
		locationCase("scan/mixed-limits", "A scan may ask for another limit on each page.", "L5.limit L5.complete",
			scanMixedLimits),
		locationCase("scan/not-live", "A scan shows nothing that is deleted or expired.", "L5.complete", scanNotLive),
		locationCase("scan/empty", "A scan of nothing ends without items.", "L5.complete L5.cursor", scanEmpty),
		locationCase("scan/limit-refused", "A limit of 0, below 0 or above 1,000 is an argument error.",
			"L5.limit L5.complete", scanLimitRefused),
		locationCase("scan/prefix-refused", "A prefix of 1,025 bytes is an argument error.", "L5.prefix", scanPrefixRefused),
		locationCase("scan/page-bytes", "Pages of the largest values stay within 4 MiB.", "L5.page-bytes L5.complete", pageBytes),
		locationCase("scan/page-bytes-many", "Pages of 1,000 records stay within 4 MiB.", "L5.page-bytes L5.complete",
			pageBytesMany),
		locationCase("scan/expected-version", "A scanned version is good as an expected version.", "L5.cas L5.complete", scanCAS),
		locationCase("scan/store-now", "Pages carry the time of the provider's clock.", "L3.store-now", scanStoreNow),
	}
	for _, g := range prefixGroups {
		cases = append(cases, locationCase("scan/prefix-"+g.slug, g.title, "L5.prefix L5.complete",
			func(t *harness.T) { prefixGroupCase(t, g.rows) }))
	}
	return slices.Concat(cases, snapshotCases(), cursorCases(), wideScanCases())
}

// scanned returns what a scan to its end shows, and checks that it shows no
// record twice.
func scanned(t *harness.T, l *harness.Location, prefix string, limit int) records {
	return once(t, l.MustScan(prefix, limit))
}

func once(t *harness.T, items []spi.Item) records {
	got := records{}
	for _, i := range items {
		if _, twice := got[i.Key]; twice {
			t.Failf("L5.complete", "the scan shows %.80q twice", i.Key)
		}
		got[i.Key] = i.Value
	}
	return got
}

// paged reads a scan to its end with a check of each page, and returns the
// records.
func paged(t *harness.T, l *harness.Location, prefix string, limit int, check func(spi.Page)) records {
	page := l.MustPage(spi.ScanRequest{Prefix: prefix, Limit: limit})
	var items []spi.Item
	var progress harness.ScanProgress
	for {
		check(page)
		items = append(items, page.Items...)
		if page.Next == nil {
			return once(t, items)
		}
		if progress.Idle(page) > maxPages {
			t.Fatalf("L5.limit", "the scan shows nothing new within %d pages, and does not end", maxPages)
		}
		page = l.MustPage(spi.ScanRequest{Prefix: prefix, Cursor: page.Next, Limit: limit})
	}
}

// maxPages is how many pages of a scan in a row may show nothing new. Pages may
// be short or empty, so it is far above what any case needs.
const maxPages = 5000

// A page never exceeds its limit. The cursor is 1 to 4,096 bytes of UTF-8.
func pageForm(t *harness.T, limit int) func(spi.Page) {
	return func(p spi.Page) {
		if len(p.Items) > limit {
			t.Fatalf("L5.limit", "a page of at most %d items holds %d", limit, len(p.Items))
		}
		if p.Next != nil && (len(*p.Next) < 1 || len(*p.Next) > spi.MaxCursorBytes || !utf8.ValidString(string(*p.Next))) {
			t.Fatalf("L5.cursor", "the cursor %.80q (%d bytes) is not 1 to 4,096 bytes of UTF-8", *p.Next, len(*p.Next))
		}
	}
}

// mixture puts n records of which some were overwritten, expire late, were
// recreated, or are gone, and returns the live ones.
func mixture(t *harness.T, l *harness.Location, prefix string, n int) records {
	var puts, again []spi.Put
	var gone []spi.Key
	for i, k := range numbered(prefix, n) {
		p := put(k, fmt.Sprintf("value %d", i))
		switch i % 8 {
		case 2:
			p.Retention = spi.For(float64(3_600_000 + i))
		case 3:
			again = append(again, put(k, fmt.Sprintf("second value %d", i)))
		case 5:
			gone = append(gone, k)
		case 6:
			gone = append(gone, k)
			again = append(again, put(k, fmt.Sprintf("recreated %d", i)))
		}
		puts = append(puts, p)
	}
	live := seed(l, puts...)
	l.MustDelete(gone...)
	for _, k := range gone {
		delete(live, k)
	}
	for k, v := range seed(l, again...) {
		live[k] = v
	}
	return live
}

// All pages together show every live record exactly once, as it is.
func scanComplete(t *harness.T) {
	l := t.Location()
	want := mixture(t, l, "k", 2500)
	for _, limit := range []int{7, 999, 1000} {
		same(t, "L5.complete", fmt.Sprintf("a scan in pages of %d", limit), want, paged(t, l, "k", limit, pageForm(t, limit)))
	}
}

func scanCompleteSmall(t *harness.T) {
	l := t.Location()
	want := observed(l, mixture(t, l, "k", 64))
	for _, limit := range []int{1, 2, 63} {
		same(t, "L5.complete", fmt.Sprintf("a scan in pages of %d", limit), want, paged(t, l, "k", limit, pageForm(t, limit)))
	}
}

func scanMixedLimits(t *harness.T) {
	l := t.Location()
	want := observed(l, mixture(t, l, "k", 120))
	limits := []int{3, 1, 20, 2, 1000}
	page := l.MustPage(spi.ScanRequest{Prefix: "k", Limit: limits[0]})
	items := page.Items
	for i := 1; page.Next != nil && i < maxPages; i++ {
		limit := limits[min(i, len(limits)-1)]
		page = l.MustPage(spi.ScanRequest{Prefix: "k", Cursor: page.Next, Limit: limit})
		pageForm(t, limit)(page)
		items = append(items, page.Items...)
	}
	same(t, "L5.complete", "a scan in pages of different limits", want, once(t, items))
}

func scanNotLive(t *harness.T) {
	l := t.Location()
	want := seed(l, put("live", "value"), putFor("leased", "value", 3_600_000))
	gone := seed(l, put("deleted", "value"), putFor("expired", "value", shortRetention), put("durable before", "value"))
	last := seed(l, putFor("durable before", "value", shortRetention), putFor("recreated", "value", shortRetention))
	l.MustDelete("deleted", "absent")
	awaitExpiry(t, max(gone["expired"].ExpiresAt, last["durable before"].ExpiresAt))
	want["recreated"] = seed(l, put("recreated", "again"))["recreated"]
	for _, limit := range []int{1, 1000} {
		same(t, "L5.complete", fmt.Sprintf("a scan in pages of %d", limit), want, paged(t, l, "", limit, pageForm(t, limit)))
	}
}

func scanEmpty(t *harness.T) {
	l := t.Location()
	same(t, "L5.complete", "a scan of an empty store", records{}, scanned(t, l, "", 10))
	want := seed(l, put("k", "value"))
	same(t, "L5.complete", "a scan with a prefix that no key has", records{}, scanned(t, l, "x", 10))
	same(t, "L5.complete", "a scan with a prefix that is longer than the key", records{}, scanned(t, l, "kk", 10))
	// A page that is full just when the records end may still announce another.
	same(t, "L5.complete", "a scan of one record in pages of one", want, scanned(t, l, "", 1))
	l.MustDelete("k")
	same(t, "L5.complete", "a scan after the Delete", records{}, scanned(t, l, "", 10))
}

// The limit is 1 to 1,000.
func scanLimitRefused(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "value"), put("b", "value"), put("c", "value"))
	page := l.MustPage(spi.ScanRequest{Limit: 1})
	for _, limit := range []int{0, -1, spi.MaxScanLimit + 1, 1 << 30} {
		_, err := l.Scan(t.Context(), spi.ScanRequest{Limit: limit})
		t.ErrorKind("L5.limit", fmt.Sprintf("a limit of %d", limit), err, spi.KindArgument)
		if page.Next != nil {
			_, err = l.Scan(t.Context(), spi.ScanRequest{Limit: limit, Cursor: page.Next})
			t.ErrorKind("L5.limit", fmt.Sprintf("a limit of %d with a cursor", limit), err, spi.KindArgument)
		}
	}
	same(t, "L5.limit", "the scan that was begun before", want, once(t, l.MustFinish("", 1, page)))
}

// A prefix is 0 to 1,024 bytes, counted in bytes and not in characters.
func scanPrefixRefused(t *harness.T) {
	l := t.Location()
	for _, text := range longestKeys {
		_, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: text + "k", Limit: 10})
		t.ErrorKind("L5.prefix", fmt.Sprintf("a prefix of %d bytes and %d characters", len(text)+1,
			utf8.RuneCountInString(text)+1), err, spi.KindArgument)
	}
}

// prefixRow are keys of one store and the prefixes to scan it for; which keys a
// prefix matches is a comparison of bytes.
type prefixRow struct {
	keys     []spi.Key
	prefixes []string
}

var prefixGroups = []struct {
	slug, title string
	rows        []prefixRow
}{
	{"length", "A prefix is 0 to 1,024 bytes long: the empty one matches every key.", []prefixRow{
		{[]spi.Key{"a", "B", "\x00", " ", "é", "😀", "\U0010ffff", "~", "{", "*"}, []string{""}},
		{longestPrefixKeys(), longestKeys},
	}},
	{"text", "A prefix is compared with its case, normalization and space.", []prefixRow{
		{
			[]spi.Key{"room:1", "Room:1", "ROOM:1", "räume", "RÄUME", "\u212a1", "k1", "K1"},
			[]string{"room", "Room", "ROOM", "r", "R", "k", "K", "RÄ", "rä"},
		},
		{
			[]spi.Key{"caf\u00e9", "cafe\u0301", "caf\u00e9s", "cafe\u0301s", "한글", "\u1112\u1161\u11abx"},
			[]string{"caf\u00e9", "cafe\u0301", "cafe", "caf", "한", "\u1112"},
		},
		{[]spi.Key{" a", "a", "a ", "a b", "\ta", "\u00a0a", "  "}, []string{" ", "a ", "\t", "  ", "\u00a0"}},
	}},
	{"pattern", "Characters of patterns and bounds are ordinary in a prefix.", []prefixRow{
		{
			[]spi.Key{"*", "*a", "a", "a*", "ab", "?", "?b", "[ab]", "[ab]c", "ac", "\\*", "\\", "a?c", "abc", "^a",
				"a]", "-", "[a-z]x"},
			[]string{"*", "?", "[", "[ab]", "\\", "a*", "a?", "^", "[a-z]", "(", "[ab", "-", "a]"},
		},
		{[]spi.Key{"(a", "[a", "+", "-", "+inf", "-inf", "a", "("}, []string{"(", "[", "+", "-", "(a", "+inf"}},
		{[]spi.Key{"1", "10", "1.0", "01", "1e1", "2", "-1"}, []string{"1", "0", "1e", "10", "-"}},
	}},
	{"bytes", "A prefix may end anywhere and matches no neighbour of its range.", []prefixRow{
		{
			[]spi.Key{"a", "a:", "a:b", "a:b:c", "ab", "a/b", "a{b}", "{a}", "{a}b", "b:a"},
			[]string{"a", "a:", "a:b", "a{", "{", "{a}", "b"},
		},
		{
			[]spi.Key{"authority", "authority\x00", "authority\x00a", "authority\x00a\x00b", "authority\x01",
				"authorit", "\x00", "\x00a"},
			[]string{"authority", "authority\x00", "authority\x00a", "authority\x00a\x00", "\x00"},
		},
		{
			[]spi.Key{"a", "a\x00", "a\x7f", "a\u0080", "aÿ", "a\U0010ffff", "a\U0010ffff\U0010ffff", "b", "`",
				"a\ufffdx", "\U0010ffff", "\U0010ffffz"},
			[]string{"a", "b", "`", "a\U0010ffff", "\U0010ffff", "aÿ"},
		},
	}},
}

// longestPrefixKeys are the longest keys, and keys that differ in the end.
func longestPrefixKeys() []spi.Key {
	var keys []spi.Key
	for _, text := range longestKeys {
		_, size := utf8.DecodeLastRuneInString(text)
		keys = append(keys, spi.Key(text), spi.Key(text[:len(text)-size]))
	}
	return append(keys, spi.Key(longestKeys[0][:spi.MaxKeyBytes-1]+"K"))
}

func prefixGroupCase(t *harness.T, rows []prefixRow) {
	for i, row := range rows {
		l := t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix(fmt.Sprint(i))})
		scanPrefix(t, l, row.keys, row.prefixes)
	}
}

func scanPrefix(t *harness.T, l *harness.Location, keys []spi.Key, prefixes []string) {
	var puts []spi.Put
	for _, k := range keys {
		puts = append(puts, put(k, string(k)))
	}
	all := observed(l, seed(l, puts...))
	for _, prefix := range prefixes {
		want := records{}
		for k, v := range all {
			if strings.HasPrefix(string(k), prefix) {
				want[k] = v
			}
		}
		for _, limit := range []int{2, 1000} {
			same(t, "L5.prefix", fmt.Sprintf("a scan with the prefix %.60q in pages of %d", prefix, limit), want,
				scanned(t, l.Citing("L5.prefix"), prefix, limit))
		}
	}
}

// A page is at most 4 MiB encoded: the sum of its keys, values and versions.
func pageSize(t *harness.T) func(spi.Page) {
	return func(p spi.Page) {
		size := 0
		for _, i := range p.Items {
			size += len(i.Key) + len(i.Value.Bytes) + len(i.Value.Version)
		}
		if size > spi.MaxPageBytes {
			t.Fatalf("L5.page-bytes", "a page of %d items holds %d bytes, more than 4 MiB", len(p.Items), size)
		}
	}
}

func pageBytes(t *harness.T) {
	l := t.Location()
	var puts []spi.Put
	for i, k := range numbered("k", 7) {
		puts = append(puts, put(k, strings.Repeat(string(rune('a'+i)), spi.MaxValueBytes)))
	}
	puts = append(puts, put("k00020", "small"), put("k9", "small"))
	want := seed(l, puts...)
	for _, limit := range []int{4, 1000} {
		same(t, "L5.page-bytes", fmt.Sprintf("a scan in pages of %d", limit), want, paged(t, l, "", limit, pageSize(t)))
	}
}

// 1,000 records of 5 KB are more than a page holds, though none is large.
func pageBytesMany(t *harness.T) {
	l := t.Location()
	var puts []spi.Put
	for _, k := range longKeys(1000) {
		puts = append(puts, put(k, strings.Repeat("v", 4000)))
	}
	want := seed(l, puts...)
	same(t, "L5.page-bytes", "a scan in pages of 1,000", want, paged(t, l, "", 1000, pageSize(t)))
}

// A scan item is re-checked with an expected version before a mutation: the
// version that the scan shows must be the one that conditions compare.
func scanCAS(t *harness.T) {
	l := t.Location()
	want := observed(l, mixture(t, l, "k", 16))
	items := once(t, l.MustScan("k", 5))
	same(t, "L5.complete", "the scan", want, items)
	for k, v := range items {
		request := write(given(spi.VersionCondition{Key: k, Expected: v.Version}), put(k, "by the scan"))
		if _, ok := l.MustWrite(request).(spi.Applied); !t.Checkf(ok, "L5.cas", "the scanned version of %s did not hold", k) {
			continue
		}
		_, conflict := l.MustWrite(request).(spi.Conflict)
		t.Checkf(conflict, "L5.cas", "the scanned version of %s held after the record had changed", k)
	}
}

// A page carries StoreNow. For a later page, the time of the snapshot is as
// good as its own.
func scanStoreNow(t *harness.T) {
	l := t.Location()
	seed(l, put("a", "value"), put("b", "value"), put("c", "value"))
	before := t.Now()
	page := l.MustPage(spi.ScanRequest{Limit: 1})
	t.Between("L3.store-now", "StoreNow of the first page", before-1, page.StoreNow, t.Now()+1)
	for page.Next != nil {
		page = l.MustPage(spi.ScanRequest{Limit: 1, Cursor: page.Next})
		t.Between("L3.store-now", "StoreNow of a later page", before-1, page.StoreNow, t.Now()+1)
	}
}
