package spicases

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func cursorCases() []harness.Case {
	return []harness.Case{
		locationCase("cursor/form", "Cursors are 1 to 4,096 bytes of UTF-8 and absent on the last page.", "L5.cursor",
			cursorForm),
		locationCase("cursor/unknown", "A cursor that nobody issued is Expired.", "L5.expired", cursorUnknown),
		locationCase("cursor/length", "A cursor of 0 or of 4,097 bytes is Expired or an argument error.", "L5.expired L5.cursor",
			cursorLength),
		locationCase("cursor/altered", "An altered cursor never fails and never shows another store.", "L5.expired L5.snapshot",
			cursorAltered),
		locationCase("cursor/foreign", "A cursor of a store with another key prefix is Expired.", "L5.expired", cursorForeign),
		locationCase("cursor/wrong-prefix", "A cursor with another prefix shows nothing but its own "+
			"snapshot, and does not damage it.", "L5.expired L5.snapshot", cursorWrongPrefix),
		locationCase("cursor/again", "A cursor that is used again continues the same snapshot or is Expired.",
			"L5.snapshot L5.expired", cursorAgain),
	}
}

// wide seeds keys that long cursors would have to name, and values with which
// a page stays small.
func wide(l *harness.Location) records {
	var puts []spi.Put
	for _, k := range append(longKeys(12), numbered("é\x00", 12)...) {
		puts = append(puts, put(k, "value"))
	}
	return seed(l, puts...)
}

// Cursor: opaque UTF-8 of 1 to 4,096 bytes, absent on the last page. Keys of
// the greatest length and prefixes like them must not make it longer.
func cursorForm(t *harness.T) {
	l := t.Location()
	want := wide(l)
	same(t, "L5.complete", "the scan", want, paged(t, l, "", 5, pageForm(t, 5)))
	prefix := strings.Repeat("k", spi.MaxKeyBytes-4)
	for k := range want {
		if !strings.HasPrefix(string(k), prefix) {
			delete(want, k)
		}
	}
	same(t, "L5.complete", "the scan with a long prefix", want, paged(t, l, prefix, 1, pageForm(t, 1)))
}

// If the cursor is invalid, Expired is returned: a normal result and no error.
func cursorUnknown(t *harness.T) {
	l := t.Location()
	want := seed(l, put("a", "value"), put("b", "value"), put("c", "value"))
	first := l.MustPage(spi.ScanRequest{Limit: 1})
	for _, c := range []string{
		"x", "0", "1", "-1", "1:0", "0:0:0", "null", " ", "\x00", "*", "a", "b", "%", "é", "😀", "{}", `{"id":"x","offset":0}`,
		"[]", "AAAA", "AAAA====",
		"00000000-0000-0000-0000-000000000000", "eyJpZCI6IngiLCJvZmZzZXQiOjB9", "99999999999999999999999999",
		"x:99999999999999999999", "1e400", "\r\n", "scan:*",
		strings.Repeat("c", spi.MaxCursorBytes), strings.Repeat("한", spi.MaxCursorBytes/3),
	} {
		expired(t, l, c, spi.ScanRequest{Cursor: cursor(c), Limit: 1})
		expired(t, l, c, spi.ScanRequest{Prefix: "a", Cursor: cursor(c), Limit: 1000})
	}
	same(t, "L5.snapshot", "the scan that was open meanwhile", want, once(t, l.MustFinish("", 1, first)))
}

func cursor(s string) *spi.Cursor {
	c := spi.Cursor(s)
	return &c
}

func expired(t *harness.T, l *harness.Location, what string, request spi.ScanRequest) {
	r, err := l.Scan(t.Context(), request)
	if !t.Checkf(err == nil, "L5.expired", "a scan from %.60q failed instead of answering Expired: %v", what, err) {
		return
	}
	_, ok := r.(spi.Expired)
	t.Checkf(ok, "L5.expired", "a scan from %.60q answered %s, expected Expired", what, harness.Describe(r))
}

func cursorLength(t *harness.T) {
	l := t.Location()
	seed(l, put("a", "value"), put("b", "value"))
	for _, c := range []string{"", strings.Repeat("c", spi.MaxCursorBytes+1), strings.Repeat("é", spi.MaxCursorBytes/2) + "c"} {
		r, err := l.Scan(t.Context(), spi.ScanRequest{Cursor: cursor(c), Limit: 1})
		what := fmt.Sprintf("a cursor of %d bytes", len(c))
		if err != nil {
			t.ErrorKind("L5.expired", what, err, spi.KindArgument)
			continue
		}
		_, ok := r.(spi.Expired)
		t.Checkf(ok, "L5.expired", "%s answered %s, expected Expired or an argument error", what, harness.Describe(r))
	}
}

// variants are texts that differ little from a cursor: cut, extended, and with
// one bit of one byte flipped. Only those that are cursors in form are kept.
func variants(c string) []string {
	all := []string{c + "0", c + "\x00", c + " ", " " + c, "0" + c, c[1:], c[:len(c)-1], c[:len(c)/2], c + c, strings.ToUpper(c),
		strings.ToLower(c)}
	for i := 0; i < len(c); i += max(1, len(c)/16) {
		b := []byte(c)
		b[i] ^= 1
		all = append(all, string(b))
	}
	var kept []string
	for _, v := range all {
		if v != c && v != "" && len(v) <= spi.MaxCursorBytes && utf8.ValidString(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// A cursor is opaque, and an altered one may by chance be another that the
// provider issued for the snapshot. So it may answer Expired or a page of the
// snapshot, but neither an error nor anything that is not in the snapshot. It
// may also end the scan that it names, whose own cursor is Expired then.
func cursorAltered(t *harness.T) {
	l := t.Location()
	want := mixture(t, l, "k", 30)
	first := l.MustPage(spi.ScanRequest{Prefix: "k", Limit: 3})
	if first.Next == nil {
		t.Fatalf("L5.complete", "the first page of 3 is the last one")
	}
	seed(l, put("k9", "later"), put("k0000", "later"))
	for _, v := range variants(string(*first.Next)) {
		r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: "k", Cursor: cursor(v), Limit: 3})
		if !t.Checkf(err == nil, "L5.expired", "a scan from an altered cursor failed instead of answering Expired: %v", err) {
			return
		}
		if p, ok := r.(spi.Page); ok {
			inSnapshot(t, want, p.Items)
		}
	}
	r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: "k", Cursor: first.Next, Limit: 3})
	if !t.Checkf(err == nil, "L5.expired", "the scan failed after scans from altered cursors: %v", err) {
		return
	}
	if second, ok := r.(spi.Page); ok {
		same(t, "L5.snapshot", "the snapshot after scans from altered cursors", want,
			once(t, append(first.Items, l.MustFinish("k", 3, second)...)))
	}
}

func inSnapshot(t *harness.T, snapshot records, items []spi.Item) {
	for _, i := range items {
		same(t, "L5.snapshot", "a page", records{i.Key: snapshot[i.Key]}, records{i.Key: i.Value})
	}
}

func cursorForeign(t *harness.T) {
	l := t.Location()
	seed(l, put("k1", "here"), put("k2", "here"), put("k3", "here"))
	there := t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix("other")})
	want := seed(there, put("k1", "there"), put("k2", "there"), put("k3", "there"))
	first := there.MustPage(spi.ScanRequest{Limit: 1})
	if first.Next == nil {
		t.Fatalf("L5.complete", "the first page of 1 is the last one of a scan of 3 records")
	}
	expired(t, l, string(*first.Next), spi.ScanRequest{Cursor: first.Next, Limit: 1})
	same(t, "L5.snapshot", "the scan by its own store", want, once(t, there.MustFinish("", 1, first)))
}

// A cursor with another prefix yields Expired or the page of its own snapshot,
// and the right prefix goes on afterwards, unless the snapshot is given up.
func cursorWrongPrefix(t *harness.T) {
	l := t.Location()
	beside := seed(l, put("j1", "value"), put("k", "value"), put("l1", "value"))
	want := mixture(t, l, "k", 30)
	want["k"] = beside["k"]
	first := l.MustPage(spi.ScanRequest{Prefix: "k", Limit: 3})
	if first.Next == nil {
		t.Fatalf("L5.complete", "the first page of 3 is the last one")
	}
	for _, prefix := range []string{"", "k0", "K", "j", "l", "k\x00"} {
		r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: prefix, Cursor: first.Next, Limit: 1000})
		if !t.Checkf(err == nil, "L5.expired", "a scan with another prefix than the cursor's failed: %v", err) {
			return
		}
		if p, ok := r.(spi.Page); ok {
			for _, i := range p.Items {
				if _, ok := want[i.Key]; !ok {
					t.Fatalf("L5.expired", "a cursor of a scan of prefix %q, continued with prefix %q, shows %q, which does "+
						"not belong to its snapshot", "k", prefix, i.Key)
				}
			}
			inSnapshot(t, want, p.Items)
		}
	}
	for k := range want { // which a snapshot that was unpinned would not survive
		l.MustPut(k, []byte("later"), nil)
	}
	resume(t, l, "k", want, first)
}

// resume finishes a scan from a page on, or accepts that its snapshot is gone.
func resume(t *harness.T, l *harness.Location, prefix string, want records, page spi.Page) {
	items := page.Items
	for n := 0; page.Next != nil && n < maxPages; n++ {
		r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: prefix, Cursor: page.Next, Limit: 3})
		if !t.Checkf(err == nil, "L5.expired", "a scan that was continued failed: %v", err) {
			return
		}
		p, ok := r.(spi.Page)
		if !ok {
			t.Notef("the provider gave the snapshot up, which it may")
			return
		}
		page, items = p, append(items, p.Items...)
	}
	same(t, "L5.snapshot", "the snapshot", want, once(t, items))
}

// Whoever lost a page asks for it again. The provider may have given the
// snapshot up by then, but it never goes on as if the page had been read.
func cursorAgain(t *harness.T) {
	l := t.Location()
	want := mixture(t, l, "k", 30)
	first := l.MustPage(spi.ScanRequest{Prefix: "k", Limit: 3})
	same(t, "L5.snapshot", "the scan", want, once(t, l.MustFinish("k", 3, first)))
	for range 2 {
		resume(t, l, "k", want, first)
	}
	first = l.MustPage(spi.ScanRequest{Prefix: "k", Limit: 3})
	for range 3 {
		// The second page, read and left.
		if r, err := l.Scan(t.Context(), spi.ScanRequest{Prefix: "k", Cursor: first.Next, Limit: 3}); t.Checkf(err == nil,
			"L5.expired", "the second page failed when it was asked for again: %v", err) {
			if p, ok := r.(spi.Page); ok {
				inSnapshot(t, want, p.Items)
			}
		}
	}
	resume(t, l, "k", want, first)
}
