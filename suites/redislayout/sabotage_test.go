package redislayout_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

type edits = []suitetest.Edit

func in(script, old, new string) suitetest.Edit {
	return suitetest.Edit{Script: script, Old: old, New: new}
}

// names edits the names of Redis keys that the scripts are given.
func names(pattern, replacement string) edits {
	return edits{{New: `
for _, list in ipairs({KEYS, ARGV}) do
  for i, name in ipairs(list) do
    list[i] = string.gsub(name, '` + pattern + `', ` + replacement + `)
  end
end
`}}
}

const packed = `'\1' .. cmsgpack.pack({key, value, version, expires, not put})`

// member edits the bytes of the members that a write packs.
func member(expression string) edits {
	return edits{{Script: "location_write", Old: packed, New: expression}}
}

func TestCatchesSabotage(t *testing.T) {
	env, cases := suitetest.Env(t), redislayout.Cases()
	for _, s := range []struct {
		name            string
		edits           edits
		id, requirement string
	}{
		{"uppercase hex", names(`opaque:(%x+)$`, `function(h) return #h == 64 and 'opaque:' .. string.upper(h) or nil end`), "keys/record", "L9.key"},
		{"missing braces", names(`{zlink%-location%-v3}`, `'zlink-location-v3'`), "keys/one-slot", "L9.slot"},
		{"hashed reference", names(`blob:(.*)$`, `function(r) return 'blob:' .. redis.sha1hex(r) end`), "blob/key", "R8.key"},
		{"hashed reference, golden", names(`blob:(.*)$`, `function(r) return 'blob:' .. redis.sha1hex(r) end`), "golden/relocation", "R9.golden"},

		{"bin instead of str", member(`'\1\149' .. cmsgpack.pack(key) .. string.char(0xc4, #value) .. value .. cmsgpack.pack(version) .. '\0' .. cmsgpack.pack(not put)`), "member/batch", "L9.member"},
		{"float expiry", member(`'\1' .. cmsgpack.pack({key, value, version, expires + 0.5, not put})`), "member/batch", "L9.member"},
		{"version as number", member(`'\1' .. cmsgpack.pack({key, value, score, expires, not put})`), "member/batch", "L9.member"},
		{"integer tombstone", member(`'\1' .. cmsgpack.pack({key, value, version, expires, put and 0 or 1})`), "record/score-grows", "L9.member"},
		{"expiry always widest", member(`'\1\149' .. cmsgpack.pack(key) .. cmsgpack.pack(value) .. cmsgpack.pack(version) .. '\207\0\0\0\0\0\0\0\0' .. cmsgpack.pack(not put)`), "member/batch", "L9.member"},
		{"hex value", member(`'\1' .. cmsgpack.pack({key, (string.gsub(value, '.', function(c) return string.format('%02x', string.byte(c)) end)), version, expires, not put})`), "member/raw-bytes", "L9.raw-bytes"},
		{"issues another version than it stores", edits{in("location_write", "reply[#reply + 1] = version", "reply[#reply + 1] = 'v' .. version")}, "member/expiry", "L9.member"},
		{"tombstone keeps the value", member(`'\1' .. cmsgpack.pack({key, put and value or 'old', version, expires, not put})`), "tombstone/deleted", "L9.tombstone"},
		{"delete writes no tombstone", member(`'\1' .. cmsgpack.pack({key, value, version, expires, false})`), "tombstone/deleted", "L9.tombstone"},
		{"empty value is a tombstone", member(`'\1' .. cmsgpack.pack({key, value, version, expires, not put or #value == 0})`), "tombstone/recreated", "L9.tombstone"},
		{"native expiry", edits{in("location_write", "call('ZADD', index, 0, key)", "call('ZADD', index, 0, key) if expires ~= 0 then call('PEXPIREAT', record, text(expires)) end")}, "record/zset", "L9.interop-snapshot"},
		{"score does not grow", edits{in("location_write", "call('ZADD', record, version, member)", "call('DEL', record) call('ZADD', record, 1, member)"),
			in("location_write", "local history = trim(record, version, low, high)", "local history = false")}, "record/score-grows", "L9.zset"},

		{"reads the oldest member", edits{in("location_read", "ZREVRANGE", "ZRANGE")}, "foreign/newest", "L9.zset"},
		{"ignores another's expiry", edits{in("location_write", "member.expires > now", "true")}, "foreign/expired", "L9.interop-read"},
		{"an index of its own", edits{in("", "ns .. 'index'", "ns .. 'own-index'")}, "foreign/scan", "L9.interop-scan"},

		{"unknown tag reads as missing", edits{in("location_read", "return {text(now), found[1]}", "return {text(now), found[1] and string.byte(found[1]) == 1 and found[1] or nil}")}, "unreadable/tag-0x02", "L9.unknown-tag"},
		{"unknown tag is missing in a condition", edits{in("location_write", "if found[1] and not current then", "if false then")}, "unreadable/tag-0x00", "L9.unknown-tag"},
		{"bin is read in a condition", edits{in("location_write", "elseif head == 0xd9 and a and a >= 32 then", "elseif head == 0xc4 and a then first, size = i + 2, a elseif head == 0xd9 and a and a >= 32 then")}, "unreadable/bin-value", "L9.unknown-tag"},
		{"any tombstone flag", edits{in("location_write", "if tombstone ~= 0xc2 and tombstone ~= 0xc3 then return end", "")}, "unreadable/integer-tombstone", "L9.unknown-tag"},
		{"a hash reads as missing", edits{in("location_read", "if found.err then", "if found.err then return {text(now)} end if false then")}, "unreadable/type-hash", "L9.unknown-tag"},
		{"one bad record stops a scan of others", edits{in("location_scan", "'LIMIT', 0, 100)", "'LIMIT', 0, 100) for _, k in ipairs(call('ZRANGE', index, 0, -1)) do call('ZCARD', call('HGET', map, k)) end")}, "scope/other-keys", "L6.failure-scope"},

		{"reads an older layout", edits{in("location_read", "return {text(now), found[1]}", "return {text(now), found[1] or call('ZREVRANGE', (string.gsub(KEYS[1], 'v3', 'v2')), 0, 0)[1]}")}, "legacy/location", "L9.no-legacy"},
		{"reads an older blob layout", edits{in("relocation_read", "local now = clock()", "local now = clock() if call('EXISTS', KEYS[1]) == 0 then KEYS[1] = string.gsub(KEYS[1], '{zlink%-relocation%-v1}:', '') end")}, "legacy/relocation", "R8.no-legacy"},

		{"a string without expiry is accepted", edits{in("", "return nil, fail('the blob has no expiry')", "return now + 60000")}, "unreadable/blob-without-expiry", "R8.unknown"},
		{"a blob of another type is missing", edits{in("", "if kind ~= 'string' then", "if kind ~= 'string' then if true then return end")}, "unreadable/blob-type-hash", "R8.unknown"},
		{"retention in whole seconds", edits{in("relocation_put", "tonumber(ARGV[2])", "math.floor(tonumber(ARGV[2]) / 1000) * 1000")}, "blob/expiry", "R8.string"},
		{"expiry that Redis does not know", edits{in("relocation_put", "call('SET', key, payload, 'PXAT', text(expires))", "call('SET', key, payload)")}, "blob/expiry", "R8.string"},
		{"renew rewrites the payload", edits{in("relocation_renew", "call('PEXPIREAT', KEYS[1], text(expires))", "call('SET', KEYS[1], 'x', 'PXAT', text(expires))")}, "blob/renew", "R8.string"},
		{"renew changes no native expiry", edits{in("relocation_renew", "call('PEXPIREAT', KEYS[1], text(expires))", "")}, "blob/renew", "R8.string"},
		{"payload in hex", edits{in("relocation_put", "call('SET', key, payload,", "call('SET', key, (string.gsub(payload, '.', function(c) return string.format('%02x', string.byte(c)) end)),")}, "blob/raw-bytes", "R8.string"},
	} {
		t.Run(s.name, func(t *testing.T) {
			suitetest.Catches(t, env, suitetest.Sabotaged(s.edits...), cases, "redislayout/"+s.id, s.requirement)
		})
	}
}

// otherPrefix is the reference that changes the key prefixes that it is given.
func otherPrefix(change func(string) string) target.Target {
	p := target.Reference()
	location, relocation := p.OpenLocation, p.OpenRelocation
	p.OpenLocation = func(ctx context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		c.KeyPrefix = change(c.KeyPrefix)
		return location(ctx, c)
	}
	p.OpenRelocation = func(ctx context.Context, c target.StoreConfig) (spi.RelocationStore, error) {
		c.KeyPrefix = change(c.KeyPrefix)
		return relocation(ctx, c)
	}
	return target.InProcess(p)
}

func TestCatchesWrongPrefix(t *testing.T) {
	env, cases := suitetest.Env(t), redislayout.Cases()
	noBraces := otherPrefix(strings.NewReplacer("{", "", "}", "").Replace)
	suitetest.Catches(t, env, noBraces, cases, "redislayout/prefix/location-braces", "L9.prefix")
	suitetest.Catches(t, env, noBraces, cases, "redislayout/prefix/relocation-braces", "R8.prefix")
	folded := otherPrefix(strings.ToLower)
	suitetest.Catches(t, env, folded, cases, "redislayout/prefix/location-apart", "L9.prefix")
	suitetest.Catches(t, env, folded, cases, "redislayout/prefix/relocation-apart", "R8.prefix")
	trimmed := otherPrefix(strings.TrimSpace)
	suitetest.Catches(t, env, trimmed, cases, "redislayout/prefix/location-characters", "L9.key")
}

// lateReader reports expiries a millisecond late.
type lateReader struct{ spi.LocationStore }

func (l lateReader) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	r, err := l.LocationStore.Read(ctx, key)
	if f, ok := r.(spi.Found); ok && f.Value.ExpiresAt != spi.NoExpiry {
		f.Value.ExpiresAt++
		return f, err
	}
	return r, err
}

func TestCatchesOtherExpiry(t *testing.T) {
	env, cases := suitetest.Env(t), redislayout.Cases()
	p := target.Reference()
	open := p.OpenLocation
	p.OpenLocation = func(ctx context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		s, err := open(ctx, c)
		return lateReader{s}, err
	}
	for _, id := range []string{"redislayout/member/expiry", "redislayout/foreign/expiring"} {
		suitetest.Catches(t, env, target.InProcess(p), cases, id, "L9.expiry-field")
	}
}
