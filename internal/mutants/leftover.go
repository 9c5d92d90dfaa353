package mutants

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// leftoverMutants leave things behind, choke on them, forget what they issued,
// or lose their way among many rows.
func leftoverMutants() []Mutant {
	const (
		removed = "    call('DEL', record)\n    call('ZREM', index, key)\n    call('HDEL', map, key)\n"
		forgets = "call('HDEL', ns .. 'counts', key)\n"
		rows    = "if #keys == 0 then return false end"
		ends    = "if more then"
	)
	return []Mutant{
		script("leftover/tombstones", "L4.reclaim", "Tombstones are never removed.", everywhere(removed, "")),
		script("leftover/index", "L4.reclaim", "The rows of removed records stay in the index.",
			everywhere(removed, "call('DEL', record)\n")),
		script("leftover/expired", "L4.reclaim", "Expired records are never removed.",
			everywhere("member.expires + SNAPSHOT_MS > now", "true")),
		script("leftover/scans", "L4.reclaim", "Scans that were left are never forgotten.",
			everywhere("call('ZREM', snapshot_boundary, id)\n    call('ZREM', snapshot_expiry, id)", "")),
		script("leftover/history", "L4.reclaim", "History is kept for scans that were given up long ago.",
			everywhere("call('ZREM', snapshot_boundary, id)\n", "")),
		script("leftover/unreadable-stops-others", "L6.failure-scope",
			"Clean-up that meets an unreadable member fails whatever it was done with.",
			everywhere("elseif not member then", "elseif not member then\n    error('unreadable')"),
			onScan("pcall(function()", "(function()"),
			onScan("tidy(now, boundaries())\n  end)", "tidy(now, boundaries())\n  end)()")),

		provided("version/of-a-process", "L3.version-fresh", "Versions come from a counter that begins again with each process.",
			func() targets.Provider {
				return edited(issued("text(call('INCR', ns .. 'issued-" + rand.Text() + "'))"))
			}),
		script("version/of-a-record", "L3.version-fresh",
			"Versions count the Puts of a record, and begin again when it was cleaned up.",
			append(issued("text(call('HINCRBY', ns .. 'counts', key, 1))"), everywhere(removed, removed+forgets))...),

		script("scan/ends-at-4096", "L5.complete", "A scan ends after 4,096 rows of the index.",
			onScan(rows, "if #keys == 0 or call('ZRANK', index, keys[1]) >= 4096 then return false end")),
		script("scan/ends-at-10000", "L5.complete", "A scan ends after 10,000 rows of the index.",
			onScan(rows, "if #keys == 0 or call('ZRANK', index, keys[1]) >= 10000 then return false end")),
		script("scan/ends-where-nothing-lives", "L5.complete", "A page that shows nothing is the last one.",
			onScan(ends, "if #reply == 3 then more = false end "+ends)),
		onLocation("scan/cursor-escapes-key", "L5.cursor", "A cursor holds prefix and key with escapes.", escapesCursors),
		onLocation("scan/cursor-before-prefix", "L5.prefix", "With a cursor, the length of the prefix is not checked.",
			func(l *location) {
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					if request.Cursor != nil && len(request.Prefix) > spi.MaxPrefixBytes {
						return spi.Expired{}, nil
					}
					return l.LocationStore.Scan(ctx, request)
				}
			}),
		prefixes("scan/prefix-text-replaced", "What is no UTF-8 in a prefix is replaced.",
			plain(func(p string) string { return strings.ToValidUTF8(p, "\ufffd") })),
	}
}

// escapesCursors puts prefix and last key of a page behind its cursor, written
// as a quoted text.
func escapesCursors(l *location) {
	var mu sync.Mutex
	own := map[spi.Cursor]spi.Cursor{}
	l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		mu.Lock()
		defer mu.Unlock()
		if request.Cursor != nil {
			if c, ok := own[*request.Cursor]; ok {
				request.Cursor = &c
			}
		}
		r, err := l.LocationStore.Scan(ctx, request)
		p, ok := r.(spi.Page)
		if !ok || p.Next == nil || len(p.Items) == 0 {
			return r, err
		}
		next := spi.Cursor(fmt.Sprint(*p.Next, ".", strconv.QuoteToASCII(request.Prefix+string(p.Items[len(p.Items)-1].Key))))
		own[next] = *p.Next
		p.Next = &next
		return p, err
	}
}
