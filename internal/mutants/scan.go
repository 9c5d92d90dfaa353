package mutants

import (
	"context"
	"slices"
	"strings"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// scanMutants break the snapshot scan (L5).
func scanMutants() []Mutant {
	const fill = "local limit, page_bytes"
	return []Mutant{
		script("scan/prefix-star", "L5.prefix", "A star in a prefix is a pattern.", onScan(fill,
			"local star = string.find(prefix, '*', 1, true) if star then prefix, to = string.sub(prefix, 1, star - 1), '+' end "+
				fill)),
		script("scan/prefix-is-a-start", "L5.prefix", "The first page of a scan does not end where the prefix ends.",
			onScan("'LIMIT', 0, 100)", "'LIMIT', 0, 100) if first_page and rows == 0 then to = '+' end")),
		prefixes("scan/prefix-lower-case", "A prefix is compared without regard to case.", plain(strings.ToLower)),
		prefixes("scan/prefix-trimmed", "Space around a prefix is dropped.", plain(strings.TrimSpace)),
		prefixes("scan/prefix-cut-at-nul", "A prefix ends at its first NUL.",
			plain(func(p string) string { before, _, _ := strings.Cut(p, "\x00"); return before })),
		prefixes("scan/prefix-short-limit", "Prefixes of more than 255 bytes are refused.", func(p string) (string, error) {
			if len(p) > 255 {
				return "", spi.Argument("prefix too long")
			}
			return p, nil
		}),
		prefixes("scan/prefix-cut-at-limit", "A prefix that is too long is cut instead of refused.", plain(func(p string) string {
			return strings.ToValidUTF8(p[:min(len(p), spi.MaxPrefixBytes)], "")
		})),

		script("scan/trimmed-by-writes", "L5.snapshot", "Writes trim history under an open snapshot.",
			onWrite("local low, high = boundaries()", "local low, high")),
		script("scan/equal-tombstones", "L5.snapshot",
			"All tombstones of a key are the same member, so that a second delete moves the first.",
			onWrite("{key, value, version, expires, not put}", "{key, value, put and version or 'x', expires, not put}")),
		script("scan/shows-the-present", "L5.snapshot", "Every page shows the present.",
			onScan("record, boundary, '-inf'", "record, '+inf', '-inf'")),
		script("scan/expires-page-by-page", "L5.snapshot", "Expiry is judged at each page instead of at the snapshot.",
			onScan("live(member, began)", "live(member, now)")),
		script("scan/cursor-for-any-prefix", "L5.expired", "A cursor is good for any prefix.",
			onScan("or snapshot[3] ~= prefix", "")),
		script("scan/wrong-prefix-unpins", "L5.snapshot", "A continuation with a wrong prefix unpins the snapshot.",
			onScan("return {'expired'}",
				"call('ZREM', snapshot_boundary, id) return {'expired'}")),
		onLocation("scan/several-round-trips", "L5.snapshot", "A scan lists the keys with SCAN and reads them one by one.",
			func(l *location) { l.scan = scanByKeys(l, true) }),
		script("scan/new-keys-appear", "L5.snapshot", "A key that was put after the snapshot shows when the scan comes to it.",
			onScan("local raw = found[1]\n", "local raw = found[1] or call('ZREVRANGE', record, 0, 0)[1]\n")),
		onLocation("scan/whole-in-memory", "L5.snapshot",
			"Items are handed out from a list that the scan's last page has emptied.", forgetsPages),

		script("scan/shows-expired", "L5.complete", "A scan shows expired records.",
			onScan("live(member, began)", "not member.tombstone")),
		script("scan/shows-deleted", "L5.complete", "A scan shows deleted records.",
			onScan("live(member, began)", "(member.tombstone or live(member, began))")),
		script("scan/skips-between-pages", "L5.complete", "Each page but the first skips a record.",
			onScan("local rows, size, read, items = 0, 0, 0, 0",
				"local rows, size, read, items = 0, 0, 0, 0 if not first_page then from = '(' .. (call('ZRANGEBYLEX', index, "+
					"from, to, 'LIMIT', 0, 1)[1] or after) end")),
		script("scan/repeats-between-pages", "L5.complete", "Each page begins with the last record of the one before.",
			onScan("tonumber(snapshot[1] or ''), '(' .. after", "tonumber(snapshot[1] or ''), '[' .. after"),
			onScan("if more then", "if more and limit > 1 then")),
		onLocation("scan/never-ends", "L5.complete", "A scan that shows nothing always answers another cursor.", neverEnds),
		onLocation("scan/ends-early", "L5.complete", "A scan ends after its third page.", endsEarly),
		onLocation("scan/expiry-left-out", "L5.complete", "Items of a scan have no expiry.", func(l *location) {
			l.scan = changePage(l, func(_ spi.ScanRequest, p *spi.Page) {
				for i := range p.Items {
					p.Items[i].Value.ExpiresAt = spi.NoExpiry
				}
			})
		}),
		script("scan/limit-ignored", "L5.limit", "A page ignores its limit.", onScan("items == limit or rows", "rows")),
		limits("scan/limit-zero", "A limit of zero or less means the greatest one.", func(n int) int {
			if n < 1 {
				return spi.MaxScanLimit
			}
			return n
		}),
		limits("scan/limit-clipped", "A limit that is too large is clipped.",
			func(n int) int { return min(n, spi.MaxScanLimit) }),
		limits("scan/limit-one-more", "A page holds one item more than its limit.", func(n int) int {
			if n > 0 && n < spi.MaxScanLimit {
				return n + 1
			}
			return n
		}),
		script("scan/page-bytes-ignored", "L5.page-bytes", "A page is not bounded in bytes.",
			onScan("if items > 0 and size + bytes > page_bytes then return true end", "")),
		script("scan/page-bytes-without-keys", "L5.page-bytes", "The bytes of a page count values alone.",
			onScan("local bytes = #key + member.size + #member.version", "local bytes = member.size")),
		script("scan/page-without-progress", "L5.page-bytes", "A page stops at 1 MiB even if it is empty.",
			onScan("if items > 0 and size + bytes > page_bytes then return true end",
				"if size + bytes > 1048576 then return true end")),

		cursors("scan/cursor-too-long", "L5.cursor", "A cursor is longer than 4096 bytes.",
			strings.Repeat("c", spi.MaxCursorBytes)),
		cursors("scan/cursor-not-utf8", "L5.cursor", "A cursor is not UTF-8.", "\xff"),
		script("scan/gone-is-an-error", "L5.expired", "A snapshot that is gone is an error.",
			onScan("return {'expired'}", "return fail('no such snapshot')")),
		onLocation("scan/malformed-is-an-argument-error", "L5.expired", "A malformed cursor is an argument error.",
			func(l *location) {
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					r, err := l.LocationStore.Scan(ctx, request)
					if _, ok := r.(spi.Expired); ok {
						return nil, spi.Argument("no such cursor")
					}
					return r, err
				}
			}),
		onLocation("scan/unknown-starts-over", "L5.expired", "A scan with an unknown cursor starts over.", func(l *location) {
			l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
				r, err := l.LocationStore.Scan(ctx, request)
				if _, ok := r.(spi.Expired); ok {
					request.Cursor = nil
					return l.LocationStore.Scan(ctx, request)
				}
				return r, err
			}
		}),
		onLocation("scan/unknown-is-the-end", "L5.expired", "A scan with an unknown cursor answers an empty last page.",
			func(l *location) {
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					r, err := l.LocationStore.Scan(ctx, request)
					if _, ok := r.(spi.Expired); ok {
						missing, err := l.LocationStore.Read(ctx, "clock")
						m, _ := missing.(spi.Missing)
						return spi.Page{StoreNow: m.StoreNow}, err
					}
					return r, err
				}
			}),
		onLocation("scan/rewrites", "L5.snapshot", "A scan writes anew what it shows.", rewritesItems),
		onLocation("scan/every-cursor-expired", "L5.expired", "Every cursor is Expired.", func(l *location) {
			l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
				if request.Cursor != nil {
					return spi.Expired{}, nil
				}
				r, err := l.LocationStore.Scan(ctx, request)
				if p, ok := r.(spi.Page); ok && p.Next != nil {
					own := "own-" + *p.Next
					p.Next = &own
					return p, err
				}
				return r, err
			}
		}),
		onLocation("scan/foreign-cursor-fails", "L5.expired", "A cursor of another provider fails.", func(l *location) {
			issued := newCounts[spi.Cursor]()
			l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
				if request.Cursor != nil && issued.get(*request.Cursor) == 0 {
					return nil, failure("not a cursor of this instance")
				}
				r, err := l.LocationStore.Scan(ctx, request)
				if p, ok := r.(spi.Page); ok && p.Next != nil {
					issued.set(*p.Next, 1)
				}
				return r, err
			}
		}),
		onLocation("scan/empty-cursor-starts-over", "L5.expired", "An empty cursor is none, and a long one is cut.",
			func(l *location) {
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					if c := request.Cursor; c != nil && (*c == "" || len(*c) > spi.MaxCursorBytes) {
						request.Cursor = nil
					}
					return l.LocationStore.Scan(ctx, request)
				}
			}),
		onLocation("scan/versions-of-its-own", "L5.cas", "The versions of a scan can't be used as expected versions.",
			func(l *location) {
				l.scan = changePage(l, func(_ spi.ScanRequest, p *spi.Page) {
					for i := range p.Items {
						p.Items[i].Value.Version = "scan-" + p.Items[i].Value.Version
					}
				})
			}),
	}
}

// prefixes is a mutant that changes or refuses the prefix of every scan.
func prefixes(id, title string, change func(string) (string, error)) Mutant {
	return onLocation(id, "L5.prefix", title, func(l *location) {
		l.scan = func(ctx context.Context, request spi.ScanRequest) (_ spi.ScanResult, err error) {
			if request.Prefix, err = change(request.Prefix); err != nil {
				return nil, err
			}
			return l.LocationStore.Scan(ctx, request)
		}
	})
}

// limits is a mutant that changes the limit of every page.
func limits(id, title string, change func(int) int) Mutant {
	return onLocation(id, "L5.limit", title, func(l *location) {
		l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
			request.Limit = change(request.Limit)
			return l.LocationStore.Scan(ctx, request)
		}
	})
}

// cursors is a mutant that puts a text in front of every cursor and takes it
// off again.
func cursors(id, requirement, title, front string) Mutant {
	return onLocation(id, requirement, title, func(l *location) {
		l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
			if request.Cursor != nil {
				c := spi.Cursor(strings.TrimPrefix(string(*request.Cursor), front))
				request.Cursor = &c
			}
			r, err := l.LocationStore.Scan(ctx, request)
			if p, ok := r.(spi.Page); ok && p.Next != nil {
				next := spi.Cursor(front) + *p.Next
				p.Next = &next
				return p, err
			}
			return r, err
		}
	})
}

// endsEarly answers no cursor with the third page of a scan.
func endsEarly(l *location) {
	pages := newCounts[spi.Cursor]()
	l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		r, err := l.LocationStore.Scan(ctx, request)
		p, ok := r.(spi.Page)
		if !ok || p.Next == nil {
			return r, err
		}
		n := 1
		if request.Cursor != nil {
			n = pages.get(*request.Cursor) + 1
		}
		pages.set(*p.Next, n)
		if n == 3 {
			p.Next = nil
		}
		return p, err
	}
}

// forgetsPages answers an empty page when a cursor is used again.
func forgetsPages(l *location) {
	used := newCounts[spi.Cursor]()
	l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		r, err := l.LocationStore.Scan(ctx, request)
		if p, ok := r.(spi.Page); ok && request.Cursor != nil {
			n := used.get(*request.Cursor)
			used.set(*request.Cursor, n+1)
			if n > 0 {
				p.Items = slices.Clip(p.Items[:0])
				return p, err
			}
		}
		return r, err
	}
}

// rewritesItems puts the items of every page again.
func rewritesItems(l *location) {
	l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		r, err := l.LocationStore.Scan(ctx, request)
		p, ok := r.(spi.Page)
		if !ok {
			return r, err
		}
		for _, item := range p.Items {
			put := spi.Put{Key: item.Key, Bytes: item.Value.Bytes}
			if item.Value.ExpiresAt == spi.NoExpiry {
				_, _ = l.LocationStore.Write(ctx, spi.WriteRequest{
					Conditions: []spi.Condition{spi.VersionCondition{Key: item.Key, Expected: item.Value.Version}},
					Mutations:  []spi.Mutation{put},
				})
			}
		}
		return p, err
	}
}

// neverEnds answers a cursor with a last page that is empty, which leads to
// another such page.
func neverEnds(l *location) {
	const end = spi.Cursor("end")
	l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		if request.Cursor != nil && *request.Cursor == end {
			request.Cursor, request.Prefix = nil, strings.Repeat("\x7f", spi.MaxPrefixBytes)
		}
		r, err := l.LocationStore.Scan(ctx, request)
		if p, ok := r.(spi.Page); ok && p.Next == nil && len(p.Items) == 0 {
			next := end
			p.Next = &next
			return p, err
		}
		return r, err
	}
}
