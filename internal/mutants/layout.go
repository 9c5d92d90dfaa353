package mutants

import (
	"context"
	"encoding/base64"
	"slices"

	"github.com/zlink-systems/zlink-conformance/spi"
)

const packed = `'\1' .. cmsgpack.pack({key, value, version, expires, not put})`

// member is a mutant that writes other members: a Lua expression instead of
// the packed ones.
func member(id, requirement, title, expression string) Mutant {
	return script(id, requirement, title, onWrite(packed, expression))
}

// layoutMutants break the official Redis layout of the Location Store (L9).
func layoutMutants() []Mutant {
	const hex = `(string.gsub(value, '.', function(c) return string.format('%02x', string.byte(c)) end))`
	uppercase := onKeys(`opaque:(%x+)$`, `function(h) return #h == 64 and 'opaque:' .. string.upper(h) or nil end`)
	newest := "return {text(now), found[1]}"
	return slices.Concat([]Mutant{
		script("layout/uppercase-hex", "L9.key", "The digest in the record's key is written in upper case.", uppercase),
		script("layout/uppercase-hex-apart", "L9.interop-read",
			"The digest in the record's key is written in upper case, so that others do not find it.", uppercase),
		script("layout/sha1-keys", "L9.key", "The digest in the record's key is another one.",
			onKeys(`opaque:(%x+)$`, `function(h) return #h == 64 and 'opaque:' .. redis.sha1hex(h) .. `+
				`string.sub(h, 1, 24) or nil end`)),
		script("layout/missing-braces", "L9.slot", "The hash tag has no braces.",
			onKeys(`{zlink%-location%-v3}`, `'zlink-location-v3'`)),
		script("layout/index-in-another-slot", "L9.slot", "The index lies outside the hash tag.",
			edit{"", "local index, map, cleanup = ns .. 'index'",
				"local index, map, cleanup = (string.gsub(ns, '[{}]', '')) .. 'index'"}),

		script("layout/score-does-not-grow", "L9.zset", "Every Put replaces the member at the score 1.",
			onWrite("call('ZADD', record, version, member)", "call('DEL', record) call('ZADD', record, 1, member)"),
			onWrite("local history = trim(record, version, low, high)", "local history = false")),
		script("layout/score-is-the-time", "L9.zset", "Scores are the seconds of the time instead of the counter.",
			onWrite("call('ZADD', record, version, member)", "call('ZADD', record, text(math.floor(now / 1000)), member)"),
			onWrite("call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0", "false"),
			onWrite("local history = trim(record, version, low, high)", "local history = false")),
		script("layout/reads-the-oldest", "L9.zset", "The member with the lowest score is read.", onRead("ZREVRANGE", "ZRANGE")),
		script("layout/counter-for-each-key", "L9.zset", "Each key counts its own scores.",
			onWrite("call('ZADD', record, version, member)",
				"local own = (tonumber(call('ZREVRANGE', record, 0, 0, 'WITHSCORES')[2] or '0')) + 1 "+
					"call('ZADD', record, own, member)"),
			onWrite("trim(record, version, low, high)", "trim(record, text(own), low, high)")),

		member("layout/bin-value", "L9.member", "The value is packed as bin.",
			`'\1\149' .. cmsgpack.pack(key) .. (#value < 256 and string.char(0xc4, #value) or string.char(0xc5, `+
				`math.floor(#value / 256) % 256, #value % 256)) .. value .. cmsgpack.pack(version) .. '\0' `+
				`.. cmsgpack.pack(not put)`),
		member("layout/float-expiry", "L9.member", "The expiry is a float.",
			`'\1' .. cmsgpack.pack({key, value, version, expires + 0.5, not put})`),
		member("layout/version-as-number", "L9.member", "The version is packed as a number.",
			`'\1' .. cmsgpack.pack({key, value, score, expires, not put})`),
		member("layout/integer-tombstone", "L9.member", "The tombstone flag is an integer.",
			`'\1' .. cmsgpack.pack({key, value, version, expires, put and 0 or 1})`),
		member("layout/widest-expiry", "L9.member", "The expiry always takes eight bytes.",
			`'\1\149' .. cmsgpack.pack(key) .. cmsgpack.pack(value) .. cmsgpack.pack(version) .. '\207\0\0\0\0\0\0\0\0' `+
				`.. cmsgpack.pack(not put)`),
		member("layout/no-tag", "L9.member", "The tag in front of the member is left out.",
			`cmsgpack.pack({key, value, version, expires, not put})`),
		member("layout/sixth-field", "L9.member", "A member has a sixth field.",
			`'\1' .. cmsgpack.pack({key, value, version, expires, not put, now})`),
		member("layout/as-map", "L9.member", "A member is a map.",
			`'\1' .. cmsgpack.pack({key = key, value = value, version = version, expiresAtMs = expires, tombstone = not put})`),
		member("layout/wide-keys", "L9.member", "Texts up to 255 bytes take a length of two bytes.",
			`'\1\149' .. '\218' .. string.char(math.floor(#key / 256), #key % 256) .. key .. cmsgpack.pack(value) .. `+
				`cmsgpack.pack(version) .. cmsgpack.pack(expires) .. cmsgpack.pack(not put)`),
		member("layout/hex-value", "L9.raw-bytes", "The value is stored in hex.",
			`'\1' .. cmsgpack.pack({key, `+hex+`, version, expires, not put})`),
		onLocation("layout/base64-value", "L9.raw-bytes", "The value is stored in base64.", base64Values),
		member("layout/golden-order", "L9.golden", "Value and version change places in a member.",
			`'\1' .. cmsgpack.pack({key, version, value, expires, not put})`),
		script("layout/another-version-stored", "L9.member", "The version in the member is not the one that was answered.",
			onWrite("reply[#reply + 1] = version", "reply[#reply + 1] = 'v' .. version")),
		member("layout/tombstone-keeps-the-value", "L9.tombstone", "A tombstone has a value.",
			`'\1' .. cmsgpack.pack({key, put and value or 'old', version, expires, not put})`),
		member("layout/tombstone-is-live", "L9.tombstone", "A deleted record is a live empty value.",
			`'\1' .. cmsgpack.pack({key, value, version, expires, false})`),
		member("layout/empty-is-tombstone", "L9.tombstone", "An empty value is a tombstone.",
			`'\1' .. cmsgpack.pack({key, value, version, expires, not put or #value == 0})`),
		script("layout/tombstone-is-live-in-conditions", "L9.tombstone", "A condition takes a tombstone for a live value.",
			onWrite("return not member.tombstone and (member.expires", "return (member.expires")),
		script("layout/deletes-at-once", "L9.tombstone", "A delete removes the record under an open snapshot.",
			onWrite("schedule(key, now, expires, history or not put)", "if not put then call('DEL', record) end")),
		member("layout/expiry-in-seconds", "L9.expiry-field", "The expiry in the member is in seconds.",
			`'\1' .. cmsgpack.pack({key, value, version, math.floor(expires / 1000), not put})`),
		onLocation("layout/expiry-told-late", "L9.expiry-field",
			"The expiry that is told is a second later than the one in the member.", func(l *location) {
				l.read = changeFound(l, func(f *spi.Found) {
					if f.Value.ExpiresAt != spi.NoExpiry {
						f.Value.ExpiresAt += 1000
					}
				})
			}),

		script("layout/unknown-tag-is-missing", "L9.unknown-tag", "A member with an unknown tag reads as Missing.",
			onRead(newest, "return {text(now), found[1] and string.byte(found[1]) == 1 and found[1] or nil}")),
		script("layout/unreadable-is-missing-in-conditions", "L9.unknown-tag", "An unreadable record is Missing in a condition.",
			onWrite("if found[1] and not current then", "if false then")),
		script("layout/bin-is-read-in-conditions", "L9.unknown-tag", "A bin is taken for a str in a condition.",
			onWrite("elseif head == 0xd9 and a and a >= 32 then",
				"elseif head == 0xc4 and a then first, size = i + 2, a elseif head == 0xd9 and a and a >= 32 then")),
		script("layout/any-tombstone-flag", "L9.unknown-tag", "Any byte is taken for a tombstone flag in a condition.",
			onWrite("if tombstone ~= 0xc2 and tombstone ~= 0xc3 then return end", "")),
		script("layout/wrong-type-is-missing", "L9.unknown-tag", "A record of another Redis type reads as Missing.",
			onRead("if found.err then", "if found.err then return {text(now)} end if false then")),
		script("layout/wrong-type-is-missing-in-conditions", "L9.unknown-tag",
			"A record of another Redis type is Missing in a condition.",
			onWrite("  if found.err then\n    return fail('record ' .. string.sub(record, -64) .. ' of a "+
				"condition is no ZSET')\n  end\n", "  if found.err then found = {} end\n")),
		onLocation("layout/unreadable-is-empty-in-scans", "L9.unknown-tag",
			"A scan shows an unreadable record as an empty value.", func(l *location) {
				l.scan = func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
					r, err := l.LocationStore.Scan(ctx, request)
					if spi.KindOf(err) == spi.KindStoreFailure && answered(err) {
						return spi.Page{Items: []spi.Item{{Key: spi.Key(request.Prefix), Value: spi.Value{Version: "0"}}},
							StoreNow: hostNow()}, nil
					}
					return r, err
				}
			}),
		script("layout/reads-an-older-one", "L9.no-legacy", "A record of an older layout is read.",
			onRead(newest, "return {text(now), found[1] or call('ZREVRANGE', (string.gsub(KEYS[1], 'v3', 'v2')), 0, 0)[1]}")),
		script("layout/reads-older-hash", "L9.no-legacy", "Where there is no record, one of an older layout is looked for.",
			onRead(newest, legacyRecord+newest)),
		onLocation("layout/record-version-rewritten", "L9.recordversion",
			"The recordVersion of canonical JSON is brought up to date.",
			func(l *location) { rewriteJSON(l, `"recordVersion":2`, `"recordVersion":1`) }),
		onLocation("layout/json-reformatted", "L9.golden", "Values that are JSON are reformatted.",
			func(l *location) { rewriteJSON(l, `,"`, `, "`) }),

		provided("prefix/braces-accepted", "L9.prefix", "A key prefix with a brace is accepted.", bracesAccepted),
		onLocation("prefix/pattern", "L9.prefix", "The key prefix is a pattern of SCAN and not escaped.",
			func(l *location) { l.scan = scanByKeys(l, false) }),
		provided("prefix/lower-case", "L9.prefix", "Key prefixes are compared without regard to case.", lowerPrefix),
	}, interopMutants())
}

const legacyRecord = `if not found[1] then
  local old = string.gsub(KEYS[1], '{zlink%-location%-v3}:opaque:', '{zlink-location}:record:')
  for _, k in ipairs({
    old, (string.gsub(KEYS[1], 'opaque:', 'record:')), (string.gsub(KEYS[1], 'v3', 'v1')), (string.gsub(KEYS[1], 'v3', 'v2')),
  }) do
    if call('EXISTS', k) == 1 then return fail('an older record is in the way') end
  end
end
`

// interopMutants break what several providers on one Redis must agree on.
func interopMutants() []Mutant {
	return []Mutant{
		script("interop/ignores-others-expiry", "L9.interop-read", "A condition ignores the expiry of a record.",
			onWrite("member.expires > now", "true")),
		script("interop/sequence-of-its-own", "L9.interop-sequence", "The sequence has a key of its own.",
			onKeys(`opaque:sequence$`, `'opaque:own-sequence'`)),
		script("interop/index-of-its-own", "L9.interop-scan", "The index has a key of its own.",
			edit{"", "ns .. 'index'", "ns .. 'own-index'"}),
		script("interop/one-row-too-few", "L9.interop-scan",
			"A record that another provider put in the index is shown once the own one has been written.",
			onScan("local records = call('HMGET', map, unpack(keys))",
				"local records = call('HMGET', map, unpack(keys)) for i = 1, #keys do if records[i] and "+
					"call('ZCARD', records[i]) "+
					"== 1 and call('ZSCORE', index, keys[i]) == '0' and call('HEXISTS', ns .. 'mine', keys[i]) == 0 then "+
					"records[i] = ns .. string.rep('0', 64) end end"),
			onWrite("call('HSET', map, key, record)", "call('HSET', map, key, record) call('HSET', ns .. 'mine', key, 1)")),
		script("interop/map-left-out", "L9.interop-scan", "Records are written without their row in the map.",
			onWrite("call('HSET', map, key, record)", "")),
		script("interop/trims-under-others", "L9.interop-snapshot", "Writes trim history under another's snapshot.",
			onWrite("if not low then", "if true then")),
		script("interop/trims-one-too-many", "L9.interop-snapshot", "Writes trim the very member that the oldest snapshot shows.",
			onWrite("call('ZREMRANGEBYRANK', record, 0, below - 2)", "call('ZREMRANGEBYRANK', record, 0, below - 1)"),
			onWrite("if below > 1 then", "if below > 0 then")),
		script("interop/deletes-under-others", "L9.interop-snapshot", "A delete removes the record under another's snapshot.",
			onWrite("schedule(key, now, expires, history or not put)", "if not put then call('DEL', record) end")),
		script("interop/recreates-from-nothing", "L9.interop-snapshot", "A Put over a tombstone starts a new history.",
			onWrite("if put or call('EXISTS', record) == 1 then",
				"local old = call('ZREVRANGE', record, 0, 0)[1] old = old and parse(old, key) if old and old.tombstone and put "+
					"then call('DEL', record) end\n  if put or call('EXISTS', record) == 1 then")),
		script("interop/recreates-in-place", "L9.interop-snapshot", "A Put over a tombstone takes its place in the history.",
			onWrite("call('ZADD', record, version, member)",
				"local top, place = call('ZREVRANGE', record, 0, 0, 'WITHSCORES'), version local old = top[1] and "+
					"parse(top[1], key) if put and old and old.tombstone then place = top[2] call('ZREM', record, top[1]) end "+
					"call('ZADD', record, place, member)"),
			onWrite("trim(record, version, low, high)", "trim(record, place, low, high)")),
		script("interop/snapshot-untold", "L9.interop-snapshot", "A snapshot is not told to other providers.",
			onScan("call('ZADD', snapshot_boundary, boundary, id)", "")),
		script("interop/scan-shows-the-present", "L9.interop-snapshot", "Pages show the present of what others write.",
			onScan("'ZREVRANGEBYSCORE', record, boundary", "'ZREVRANGEBYSCORE', record, '+inf'")),
		script("interop/scan-expires-as-it-goes", "L9.interop-snapshot", "Pages judge expiry by their own time.",
			onScan("live(member, began)", "live(member, now)")),
		script("interop/finished-scan-ends-all", "L9.interop-snapshot", "A scan that ends unpins all snapshots.",
			onScan("if more then", "if not more then call('DEL', snapshot_boundary) end if more then")),
		script("interop/native-expiry", "L9.interop-snapshot",
			"The record's key has a native expiry, which takes an open snapshot's history with it.",
			onWrite("call('ZADD', index, 0, key)", "call('ZADD', index, 0, key) if expires ~= 0 then call('PEXPIREAT', "+
				"record, text(expires)) end")),
	}
}

// rewriteJSON replaces text in values that look like canonical JSON.
func rewriteJSON(l *location, old, new string) {
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		w.Mutations = slices.Clone(w.Mutations)
		for i, m := range w.Mutations {
			if p, ok := m.(spi.Put); ok {
				p.Bytes = replaced(p.Bytes, old, new)
				w.Mutations[i] = p
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
}

// base64Values writes values in base64 and reads them back, so that only the
// bytes in Redis show it.
func base64Values(l *location) {
	decoded := func(v *spi.Value) {
		if raw, err := base64.StdEncoding.DecodeString(string(v.Bytes)); err == nil {
			v.Bytes = raw
		}
	}
	l.read = changeFound(l, func(f *spi.Found) { decoded(&f.Value) })
	l.scan = changePage(l, func(_ spi.ScanRequest, p *spi.Page) {
		for i := range p.Items {
			decoded(&p.Items[i].Value)
		}
	})
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		w.Mutations = slices.Clone(w.Mutations)
		for i, m := range w.Mutations {
			if p, ok := m.(spi.Put); ok {
				p.Bytes = base64.StdEncoding.AppendEncode(nil, p.Bytes)
				w.Mutations[i] = p
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
}
