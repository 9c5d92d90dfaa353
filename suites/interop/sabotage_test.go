package interop_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/suites/interop"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
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

const packed = "cmsgpack.pack({key, value, version, expires, not put})"

func TestCatchesSabotage(t *testing.T) {
	env, cases := suitetest.Env(t), interop.Cases()
	for _, s := range []struct {
		name            string
		edits           edits
		id, requirement string
	}{
		{"uppercase hex", names(`opaque:(%x+)$`, `function(h) return #h == 64 and 'opaque:' .. string.upper(h) or nil end`), "read/values-from-target", "L9.interop-read"},
		{"uppercase hex, read", names(`opaque:(%x+)$`, `function(h) return #h == 64 and 'opaque:' .. string.upper(h) or nil end`), "read/values-from-reference", "L9.interop-read"},
		{"an expiry of another unit", edits{in("location_write", packed, "cmsgpack.pack({key, value, version, math.floor(expires / 1000), not put})")}, "read/overwritten-retention-from-target", "L9.interop-read"},
		{"a tombstone that is a live empty value", edits{in("location_write", packed, "cmsgpack.pack({key, value, version, expires, false})")}, "read/deleted-from-target", "L9.interop-read"},
		{"conditions always hold", edits{in("location_write", "if not holds then", "if false then")}, "condition/version-from-reference", "L9.interop-read"},
		{"conditions always hold, batch", edits{in("location_write", "if not holds then", "if false then")}, "batch/conflict-from-target", "L4.all-or-nothing"},
		{"conditions always hold, creation", edits{in("location_write", "if not holds then", "if false then")}, "concurrent/create", "L4.missing"},

		{"a sequence of its own", names(`opaque:sequence$`, `'opaque:own-sequence'`), "sequence/shared-counter", "L9.interop-sequence"},
		{"a sequence of its own, late", names(`opaque:sequence$`, `'opaque:own-sequence'`), "sequence/late-starter", "L9.interop-sequence"},
		{"versions that come again", edits{in("location_write", packed, "cmsgpack.pack({key, value, text(score % 5), expires, not put})"),
			in("location_write", "reply[#reply + 1] = version", "reply[#reply + 1] = text(score % 5)")}, "version/fresh", "L3.version-fresh"},

		{"an index of its own", edits{in("", "ns .. 'index'", "ns .. 'own-index'")}, "scan/finds-from-target", "L9.interop-scan"},
		{"an index of its own, to others", edits{in("", "ns .. 'index'", "ns .. 'own-index'")}, "scan/keys-from-reference", "L9.interop-scan"},
		{"trims under another's snapshot", edits{in("location_write", "if not low then", "if true then")}, "snapshot/overwrites-from-reference", "L9.interop-snapshot"},
		{"trims one member too many", edits{in("location_write", "call('ZREMRANGEBYRANK', record, 0, below - 2)", "call('ZREMRANGEBYRANK', record, 0, below - 1)"),
			in("location_write", "if below > 1 then", "if below > 0 then")}, "snapshot/hot-key-from-reference", "L9.interop-snapshot"},
		{"deletes the record under another's snapshot", edits{in("location_write", "schedule(key, now, expires, history or not put)", "if not put then call('DEL', record) end")}, "snapshot/double-deletes-from-reference", "L9.interop-snapshot"},
		{"tells nobody of its snapshot", edits{in("location_scan", "call('ZADD', snapshot_boundary, boundary, id)", "")}, "snapshot/overwrites-from-target", "L9.interop-snapshot"},
		{"its scans show the present", edits{in("location_scan", "'ZREVRANGEBYSCORE', record, boundary", "'ZREVRANGEBYSCORE', record, '+inf'")}, "snapshot/recreated-from-target", "L9.interop-snapshot"},
		{"its scans expire as they go", edits{in("location_scan", "live(member, began)", "live(member, now)")}, "snapshot/expiry-from-target", "L9.interop-snapshot"},
		{"a finished scan ends all others", edits{in("location_scan", "if more then", "if not more then call('DEL', snapshot_boundary) end if more then")}, "snapshot/own-scans-from-reference", "L9.interop-snapshot"},

		{"hashed reference", names(`blob:(.*)$`, `function(r) return 'blob:' .. redis.sha1hex(r) end`), "relocation/put-from-target", "R8.interop-read"},
		{"payload with a header", edits{in("relocation_put", "call('SET', key, payload,", "call('SET', key, 'header' .. payload,")}, "relocation/put-from-target", "R8.interop-read"},
		{"renew changes no native expiry", edits{in("relocation_renew", "call('PEXPIREAT', KEYS[1], text(expires))", "")}, "relocation/renew-from-target", "R4.renew"},
	} {
		t.Run(s.name, func(t *testing.T) {
			suitetest.Catches(t, env, suitetest.Sabotaged(s.edits...), cases, "interop/"+s.id, s.requirement)
		})
	}
}
