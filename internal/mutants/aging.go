package mutants

import (
	"context"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// agingMutants go wrong with what is old or at its end: the history of open
// scans, payloads in the moment of their expiry, rows of another time.
func agingMutants() []Mutant {
	const (
		pinned  = "elseif low and tonumber(low) < tonumber(found[2]) then"
		purged  = "snapshot_expiry, '-inf', text(now)"
		expired = "if expires > now then return expires end"
	)
	return []Mutant{
		script("aging/three-open-scans", "L5.snapshot", "A fourth scan makes the first one Expired.",
			onScan("call('ZADD', snapshot_boundary, boundary, id)",
				"call('ZADD', snapshot_boundary, boundary, id) for _, old in ipairs(call('ZREVRANGE', snapshot_expiry, 2, "+
					"-1)) do call('ZREM', snapshot_boundary, old) call('ZREM', snapshot_expiry, old) end")),
		script("aging/clean-up-drops-deleted", "L5.snapshot",
			"Clean-up a second later removes deleted records that an open scan still shows.",
			onWrite(pinned, "elseif false then"), onScan(pinned, "elseif false then")),
		script("aging/clean-up-trims", "L5.snapshot", "Clean-up a second later trims history that an open scan still shows.",
			onWrite("schedule(key, now, member.expires, trim(record, found[2], low, high))",
				"schedule(key, now, member.expires, trim(record, found[2]))")),
		script("aging/purged-early", "L9.interop-snapshot",
			"Snapshots are given up 40 seconds before their end, those of others too.",
			onWrite(purged, "snapshot_expiry, '-inf', text(now + 40000)")),
		script("aging/mixes-after-the-end", "L5.snapshot",
			"A scan goes on after its snapshot was given up, with what is left of it.",
			onScan("if not expiry or tonumber(expiry) <= now or not began", "if false"),
			onScan("call('PEXPIREAT', scan, text(now + SNAPSHOT_MS))", "")),
		script("aging/blob-found-late", "R4.read", "A payload is found for 30 ms after its expiry.",
			onPut("'PXAT', text(expires))", "'PXAT', text(expires + 30))"),
			onGet("{'found', text(now), text(expires),", "{'found', text(now), text(expires - 30),")),
		script("aging/blob-renewed-late", "R4.renew", "A payload is renewed for 30 ms after its expiry.",
			onPut("'PXAT', text(expires))", "'PXAT', text(expires + 30))"),
			onGet(expired, "if expires - 30 > now then return expires - 30 end")),
		script("aging/batch-applied-in-part", "L4.all-or-nothing",
			"A record of another Redis type is noticed when the batch comes to it.",
			onWrite("types[ARGV[i]] = 'zset'", ""),
			onWrite("if call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0 then",
				"if tonumber(redis.pcall('ZCOUNT', ARGV[i], '(' .. issued, '+inf')) == 1 then")),
		onLocation("aging/last-page-asked-again", "L6.unknown-outcome",
			"The snapshot ends with the last page, and a last page whose reply was lost is asked for again.", func(l *location) {
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					r, err := l.LocationStore.Scan(ctx, request)
					if request.Cursor == nil || !lost(err) {
						return r, err
					}
					r, err = l.LocationStore.Scan(ctx, request)
					if p, ok := r.(spi.Page); ok && p.Next == nil {
						return spi.Expired{}, nil
					}
					return r, err
				}
			}),
		provided("aging/location-half-open", "L6.recover", "A connection on which nothing answers any more is used for ever.",
			halfOpenReused),
		provided("aging/relocation-half-open", "R5.recover", "A connection on which nothing answers any more is used for ever.",
			halfOpenReused),
		provided("aging/location-connects-for-ever", "L6.recover",
			"An attempt to connect that is never answered is awaited for ever.", connectsForEver),
		provided("aging/relocation-connects-for-ever", "R5.recover",
			"An attempt to connect that is never answered is awaited for ever.", connectsForEver),
		provided("aging/timeout-of-a-pipeline", "R5.timeout",
			"The operation timeout bounds connecting and a pipeline of commands each on its own.", pipelines),
	}
}
