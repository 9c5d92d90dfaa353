package mutants

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// everywhere edits every script that holds old.
func everywhere(old, new string) edit { return edit{"", old, new} }

// cleanUpMutants reclaim what an open scan or a reader still needs, or take old
// members for current ones.
func cleanUpMutants() []Mutant {
	return slices.Concat(pinMutants(), eventMutants(), firstPageMutants(), historyMutants(), againMutants(), leftoverMutants())
}

// pinMutants misjudge which members open scans still show.
func pinMutants() []Mutant {
	const (
		smallest = "call('ZRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2],"
		outlived = "member.expires + SNAPSHOT_MS > now"
		waits    = "text(expires + SNAPSHOT_MS)"
	)
	return []Mutant{
		script("cleanup/newest-scan-alone", "L5.snapshot", "Of several open scans the newest alone pins history.",
			everywhere(smallest, "call('ZREVRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2],")),
		script("cleanup/newest-scan-alone-later", "L5.snapshot",
			"Clean-up a second later looks only at the newest of several open scans.",
			onWrite("tidy(now, low, high)\nreturn reply", "tidy(now, high, high) return reply"),
			onScan("tidy(now, boundaries())", "local _, high = boundaries() tidy(now, high, high)")),
		script("cleanup/oldest-scan-forgotten", "L5.snapshot", "Of four open scans the oldest pins nothing.",
			everywhere(smallest, `
    call('ZRANGE', snapshot_boundary, call('ZCARD', snapshot_boundary) > 3 and 1 or 0, -1, 'WITHSCORES')[2],`)),
		script("cleanup/middle-scan-forgotten", "L5.snapshot",
			"What lies between the oldest and the newest open scan is trimmed.",
			everywhere("call('ZREMRANGEBYSCORE', record, '(' .. high, '(' .. score)",
				"call('ZREMRANGEBYSCORE', record, '(' .. low, '(' .. score)")),
		script("cleanup/drops-expired-at-once", "L5.snapshot",
			"A record that expired during a scan is removed although the scan shows it.",
			everywhere(outlived, "member.expires > now"), everywhere(waits, "text(expires)")),
		script("cleanup/drops-expired-early", "L5.snapshot",
			"A record is removed two seconds after its expiry although an open scan shows it.",
			everywhere(outlived, "member.expires + 2000 > now"), everywhere(waits, "text(expires + 2000)")),
		script("cleanup/drops-expired-after-twenty", "L5.snapshot",
			"A record is removed twenty seconds after its expiry although an open scan shows it.",
			everywhere(outlived, "member.expires + 20000 > now"), everywhere(waits, "text(expires + 20000)")),
		provided("cleanup/pins-of-a-process", "L5.snapshot", "What pins history is known in the process of the scan alone.",
			func() targets.Provider {
				process := rand.Text()
				return edited([]edit{
					everywhere("snapshot_boundary = ns .. 'snapshot-expiry'", "snapshot_boundary = ns .. '"+process+"-expiry'"),
					everywhere("ns .. 'snapshot-boundary'", "ns .. '"+process+"-boundary'"),
				})
			}),
	}
}

// eventMutants give scans up because of what happens to another, or in vain.
func eventMutants() []Mutant {
	const ends = "if more then"
	return []Mutant{
		script("cleanup/end-unpins-all", "L5.snapshot", "The end of a scan unpins all open scans.",
			onScan(ends, "if not more and not first_page then call('DEL', snapshot_boundary) end "+ends)),
		script("cleanup/end-unpins-older", "L5.snapshot", "The end of a scan unpins those that began before it.",
			onScan(ends, "if not more and not first_page then call('ZREMRANGEBYSCORE', snapshot_boundary, '-inf', boundary) end "+
				ends)),
		script("cleanup/wrong-prefix-unpins-all", "L5.snapshot", "A continuation with a wrong prefix unpins all open scans.",
			onScan("return {'expired'}", "call('DEL', snapshot_boundary) return {'expired'}")),
		onLocation("cleanup/close-unpins", "L5.snapshot", "The end of an instance unpins all open scans.", func(l *location) {
			l.close = func() error {
				unpin(context.Background(), l.config)
				return l.LocationStore.Close()
			}
		}),
		onLocation("cleanup/start-unpins", "L5.snapshot", "The first scan of an instance unpins those that others have opened.",
			func(l *location) {
				var once sync.Once
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					once.Do(func() { unpin(ctx, l.config) })
					return l.LocationStore.Scan(ctx, request)
				}
			}),
		onLocation("cleanup/refusal-unpins", "L5.snapshot", "A page that is refused gives its scan up.", func(l *location) {
			l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
				r, err := l.LocationStore.Scan(ctx, request)
				if request.Cursor != nil && spi.KindOf(err) == spi.KindArgument {
					unpin(ctx, l.config)
				}
				return r, err
			}
		}),
		provided("cleanup/foreign-cursor-unpins", "L5.snapshot", "A cursor that is tried on another store gives its scan up.",
			func() targets.Provider {
				var mu sync.Mutex
				opened := map[spi.Cursor]targets.StoreConfig{}
				return hooked(refprovider.New(), func(l *location) {
					l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
						mu.Lock()
						defer mu.Unlock()
						if request.Cursor != nil {
							if c, ok := opened[*request.Cursor]; ok && c.KeyPrefix != l.config.KeyPrefix {
								unpin(ctx, c)
							}
						}
						r, err := l.LocationStore.Scan(ctx, request)
						if p, ok := r.(spi.Page); ok && p.Next != nil {
							opened[*p.Next] = l.config
						}
						return r, err
					}
				}, nil)
			}),
	}
}

// unpin removes what pins the history of open scans.
func unpin(ctx context.Context, config targets.StoreConfig) {
	if c, err := client(config); err == nil {
		c.Del(ctx, layout.SnapshotBoundaryKey(config.KeyPrefix))
		_ = c.Close()
	}
}

// firstPageMutants take two scans without a write between them for one.
func firstPageMutants() []Mutant {
	const (
		began = "local reply = {'page', text(now), ''}"
		pins  = "call('ZADD', snapshot_boundary, boundary, id)"
		lives = "call('ZADD', snapshot_expiry, text(now + SNAPSHOT_MS), id)"
		ends  = "if more then"
	)
	return []Mutant{
		script("cleanup/first-pages-share-time", "L5.snapshot", "Scans without a write between them have one time.",
			onScan(began, `
if first_page then
  local at = ns .. 'began:' .. boundary .. ':' .. prefix
  began = tonumber(call('GET', at) or now)
  call('SET', at, text(began), 'PX', SNAPSHOT_MS)
end `+began)),
		script("cleanup/first-pages-share-pin", "L5.snapshot",
			"Scans without a write between them are unpinned when the first of them ends.",
			onScan(pins, "call('ZADD', snapshot_boundary, boundary, 'at' .. boundary)"),
			onScan(ends, "if not more and not first_page then call('ZREM', snapshot_boundary, 'at' .. boundary) end "+ends)),
		script("cleanup/first-pages-share-life", "L5.snapshot",
			"Scans without a write between them end a minute after the first of them began.",
			onScan(lives, `
local at = ns .. 'ends:' .. boundary
local ends = call('GET', at) or text(now + SNAPSHOT_MS)
call('SET', at, ends)
call('ZADD', snapshot_expiry, ends, id)
`)),
	}
}

// historyMutants take an older member for the current one while history is kept.
func historyMutants() []Mutant {
	const (
		read    = "return {text(now), found[1]}"
		exists  = "local exists = current and live(current, now)"
		another = " then found = call('ZREVRANGE', KEYS[1], 1, 1) end "
	)
	conditions := func(kind string) edit {
		return onWrite(exists, `
  if kind == '`+kind+`' and current and not live(current, now) then
    found = call('ZREVRANGE', record, 1, 1)
    current = found[1] and parse(found[1], key)
  end
  `+exists)
	}
	return []Mutant{
		script("cleanup/read-before-delete", "L4.delete", "While history is kept, a deleted record reads as it was before.",
			onRead(read, "if found[1] and string.byte(found[1], -1) == 0xc3"+another+read)),
		script("cleanup/read-before-expired", "L3.expired-missing",
			"While history is kept, an expired record reads as it was before.", onRead(read, `
local expires = 0
if found[1] and string.byte(found[1], -10) == 0xcf then
  for at = -9, -2 do expires = expires * 256 + string.byte(found[1], at) end
end
if expires > 0 and expires <= now`+another+read)),
		script("cleanup/missing-before", "L4.missing",
			"While history is kept, a Missing condition looks at what was there before.",
			conditions("missing")),
		script("cleanup/version-before", "L4.version",
			"While history is kept, a Version condition holds for what was there before.",
			conditions("version")),
		script("cleanup/value-before", "L4.value", "While history is kept, a Value condition holds for what was there before.",
			conditions("value")),
	}
}

// againMutants clean up after a Delete or an expiry what was put again since.
func againMutants() []Mutant {
	const (
		tidies   = "local found = own(record) and redis.pcall('ZREVRANGE', record, 0, 0, 'WITHSCORES')"
		schedule = "schedule(key, now, expires, history or not put)"
		removed  = "    call('DEL', record)\n    call('ZREM', index, key)\n    call('HDEL', map, key)"
		added    = "call('ZADD', record, version, member)\n    call('ZADD', index, 0, key)"
	)
	// doomed removes by what the row was made for, whatever is there by now.
	doomed := func(when, remove string) []edit {
		return []edit{
			onWrite(schedule, `
    if `+when+` then call('HSET', ns .. 'doomed', key, '1') end
    call('ZADD', cleanup, text(now + SETTLE_MS), key)`),
			everywhere(tidies, `
  if (call('ZSCORE', cleanup, key) or '0') + 0 <= now and call('HDEL', ns .. 'doomed', key) == 1 then
    `+remove+`
  end
  `+tidies),
		}
	}
	return []Mutant{
		script("cleanup/removes-put-again", "L4.put", "A record that was deleted and put again is removed a second later.",
			doomed("not put", "call('DEL', record) call('ZREM', index, key) call('HDEL', map, key) "+
				"call('ZREM', cleanup, key) return")...),
		script("cleanup/hides-put-again", "L5.complete",
			"A record that was deleted and put again is taken out of the index a second later.",
			doomed("not put", "call('ZREM', index, key)")...),
		script("cleanup/removes-leased-again", "L4.put",
			"A record that had a retention and was put again is removed a second after the retention.",
			onWrite(schedule, "if expires ~= 0 then call('ZADD', ns .. 'leases', text(expires + SETTLE_MS), key) end "+schedule),
			everywhere("local function tidy(now, low, high)", `
local function tidy(now, low, high)
  for _, key in ipairs(call('ZRANGEBYSCORE', ns .. 'leases', '-inf', text(now))) do
    call('DEL', call('HGET', map, key) or 'none')
    call('HDEL', map, key)
    call('ZREM', index, key)
    call('ZREM', ns .. 'leases', key)
  end`)),
		script("cleanup/not-indexed-again", "L5.complete", "A record that is put again after clean-up is invisible to scans.",
			onWrite(added, "if call('EXISTS', record) == 0 then call('ZADD', index, 0, key) end call('ZADD', "+
				"record, version, member)"),
			everywhere(removed, "call('ZREM', index, key)")),
	}
}
