package mutants

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Lawful returns every lawful variant. Their IDs are unique.
func Lawful() []Variant {
	return []Variant{
		variant("lawful/page-time-of-the-first", "L3.store-now", "A later page tells the time of the first one.",
			onScan(`local reply = {'page', text(now), ''}`, `local reply = {'page', text(began), ''}`)),
		variant("lawful/one-item-pages", "L5.limit", "A page holds one item, whatever the limit.",
			onScan("if items == limit or", "if items == 1 or")),
		variant("lawful/short-pages", "L5.limit", "A page looks at three records, whether they are shown or not.",
			onScan("local MAX_ROWS = 2000", "local MAX_ROWS = 3")),
		variant("lawful/empty-first-page", "L5.limit", "The first page is empty, with a cursor if anything is stored.",
			onScan("local last = after", "local nothing = string.rep('!', 1025) -- longer than any key\nlocal last = after"),
			onScan("if items == limit or", "if first_page then last = nothing return true end\n      if items == limit or"),
			onScan("tonumber(snapshot[1] or ''), '(' .. after",
				"tonumber(snapshot[1] or ''), after == string.rep('!', 1025) and '[' .. prefix or '(' .. after")),
		variant("lawful/versions-of-4096-bytes", "L3.version-form", "A version is as long as it may be.",
			ownVersion(`string.rep('0', 4096 - #version) .. version`)...),
		variant("lawful/versions-without-order", "L3.version-form", "A version is a digest that says nothing of its age.",
			ownVersion(`redis.sha1hex(record .. ' ' .. version)`)...),
		variant("lawful/one-score-a-commit", "L9.zset", "The members of one commit have the same score.",
			append(ownVersion(`version .. '-' .. text(i)`),
				onWrite("call('INCRBY', sequence, mutations) - mutations", "call('INCR', sequence)"),
				onWrite("  score = score + 1\n", ""))...),
		variant("lawful/deleted-at-once", "L9.tombstone", "A deleted record's key is gone if no scan is open.",
			onWrite("  if put or call('EXISTS', record) == 1 then", `  if not put and not low then
    call('DEL', record)
    call('ZREM', index, key)
    call('HDEL', map, key)
    call('ZREM', cleanup, key)
  elseif put or call('EXISTS', record) == 1 then`)),
		variant("lawful/clean-up-at-once", "L5.snapshot", "Clean-up looks at a record with the next write.",
			edit{old: "local SETTLE_MS = 1000", new: "local SETTLE_MS = 0"}),
		variant("lawful/clean-up-late", "L5.snapshot", "Clean-up lets half a minute pass and then does one row at a time.",
			edit{old: "local SETTLE_MS = 1000", new: "local SETTLE_MS = 30000"},
			edit{old: "local BOUND = 16", new: "local BOUND = 1"}),
		variant("lawful/scan-ends-after-ten-seconds", "L5.expired", "A scan is Expired ten seconds after its first page.",
			onScan("tonumber(expiry) <= now", "tonumber(expiry) - SNAPSHOT_MS + 10000 <= now")),
		decorated("lawful/altered-cursor-ends-the-scan", "L5.expired", "An altered cursor ends the scan that it names.",
			alteredEnds, nil),
		decorated("lawful/bad-cursor-is-expired", "L5.expired", "An empty cursor and one that is too long are Expired.",
			func(l *location) {
				l.scan = func(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
					if c := r.Cursor; c != nil && (*c == "" || len(*c) > spi.MaxCursorBytes) {
						unknown := spi.Cursor("unknown")
						r.Cursor = &unknown
					}
					return l.LocationStore.Scan(ctx, r)
				}
			}, nil),
		{ID: "lawful/interfaces-alone", Allowed: "L9.key", Title: "It keeps another layout and says so.",
			provider: func() targets.Provider {
				p := edited([]edit{onKeys(":opaque:", "':other:'"), onKeys(":blob:", "':other:'")})
				p.Info.Layout = targets.LayoutNone
				return p
			}},
		relativeExpiry(),
		transactions(),
		{ID: "lawful/ordinary-names", Allowed: "L10.surface",
			Title: "Public names hold the letters of a private term in an ordinary word.",
			provider: public("SubscriptionDescription, ConnectionPool.initialCapacity, " +
				"TlsOptions.CertificateAuthority, JavaScriptOptions")},
		variant("lawful/repairs-a-score-above", "L9.score-above",
			"A write over a score above the sequence brings the sequence up to it.",
			onWrite("return fail('record ' .. string.sub(ARGV[i], -64) .. ' has a score above the sequence')",
				"call('SET', sequence, call('ZREVRANGE', ARGV[i], 0, 0, 'WITHSCORES')[2])")),
	}
}

func variant(id, allowed, title string, edits ...edit) Variant {
	return Variant{ID: id, Allowed: allowed, Title: title, edits: edits}
}

// decorated is a variant whose stores are changed when they are opened.
func decorated(id, allowed, title string, onLocation func(*location), onRelocation func(*relocation)) Variant {
	return Variant{ID: id, Allowed: allowed, Title: title,
		provider: func() targets.Provider { return hooked(refprovider.New(), onLocation, onRelocation) }}
}

// ownVersion makes the versions that are stored and told of the number that is
// the score.
func ownVersion(expression string) []edit {
	return []edit{
		onWrite("reply[#reply + 1] = version", "reply[#reply + 1] = "+expression),
		onWrite("cmsgpack.pack({key, value, version,", "cmsgpack.pack({key, value, "+expression+","),
	}
}

// alteredEnds gives a snapshot up when a cursor names it that nobody was given.
func alteredEnds(l *location) {
	l.scan = func(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
		result, err := l.LocationStore.Scan(ctx, r)
		if _, expired := result.(spi.Expired); !expired || r.Cursor == nil {
			return result, err
		}
		raw, bad := base64.RawURLEncoding.Strict().DecodeString(string(*r.Cursor))
		const id, sum = 16, 8 // bytes of the reference's cursors
		if bad != nil || len(raw) < id+sum {
			return result, nil
		}
		if want := sha256.Sum256(append(raw[:id:id], raw[id+sum:]...)); string(want[:sum]) == string(raw[id:id+sum]) {
			return result, nil // whole: its prefix is another, or its time is over
		}
		c, err := client(l.config)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return result, c.ZRem(ctx, layout.SnapshotExpiryKey(l.config.KeyPrefix), hex.EncodeToString(raw[:id])).Err()
	}
}
