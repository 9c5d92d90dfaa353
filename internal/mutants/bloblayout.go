package mutants

import (
	"bytes"
	"strings"
	"sync"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// blobLayoutMutants break the official Redis layout of the Relocation Store (R8).
func blobLayoutMutants() []Mutant {
	hashed := onKeys(`blob:(.*)$`, `function(r) return 'blob:' .. redis.sha1hex(r) end`)
	return []Mutant{
		script("blob-layout/hashed-reference", "R8.key", "The reference is hashed in the key.", hashed),
		script("blob-layout/golden-reference", "R9.golden", "The reference is hashed in the key.", hashed),
		script("blob-layout/hashed-apart", "R8.interop-read",
			"The reference is hashed in the key, so that others do not find it.", hashed),
		script("blob-layout/missing-braces", "R8.slot", "The hash tag has no braces.",
			onKeys(`{zlink%-relocation%-v1}`, `'zlink-relocation-v1'`)),
		script("blob-layout/header", "R8.interop-read", "A header stands in front of the payload.",
			onPut("call('SET', key, payload,", "call('SET', key, 'header' .. payload,")),
		script("blob-layout/hex", "R8.string", "The payload is stored in hex.",
			onPut("call('SET', key, payload,", "call('SET', key, (string.gsub(payload, '.', function(c) return "+
				"string.format('%02x', string.byte(c)) end)),")),
		script("blob-layout/whole-seconds", "R8.string", "The native expiry is in whole seconds.",
			onPut("tonumber(ARGV[2])", "math.floor(tonumber(ARGV[2]) / 1000) * 1000")),
		script("blob-layout/no-native-expiry", "R8.string", "The payload has no native expiry.",
			onPut("call('SET', key, payload, 'PXAT', text(expires))", "call('SET', key, payload)")),
		script("blob-layout/renew-rewrites", "R8.string", "Renew writes the payload anew.",
			onRenew("call('PEXPIREAT', KEYS[1], text(expires))", "call('SET', KEYS[1], 'x', 'PXAT', text(expires))")),
		script("blob-layout/delete-leaves-a-mark", "R8.string", "Delete leaves an empty string.",
			edit{"relocation_delete", "call('DEL', KEYS[1])", "call('SET', KEYS[1], '', 'PX', 60000)"}),
		script("blob-layout/expiry-told-late", "R8.interop-read",
			"The expiry that is told is a second later than the native one.",
			onGet("text(expires), call('GET'", "text(expires + 1000), call('GET'")),
		script("blob-layout/renew-untold", "R8.interop-read", "Renew changes no native expiry.",
			onRenew("call('PEXPIREAT', KEYS[1], text(expires))", "")),
		script("blob-layout/delete-does-nothing", "R8.interop-read", "Delete leaves what others stored.",
			edit{"relocation_delete", "call('DEL', KEYS[1])", ""}),
		script("blob-layout/compares-nothing", "R4.put-compare", "Put compares with what others stored by length alone.",
			onPut(" and call('GET', key) == payload", "")),
		script("blob-layout/without-expiry-accepted", "R8.unknown", "A string without expiry is accepted.",
			edit{"", "return nil, fail('the blob has no expiry')", "return now + 60000"}),
		script("blob-layout/other-type-is-missing", "R8.unknown", "A key of another type is Missing.",
			edit{"", "if kind ~= 'string' then", "if kind ~= 'string' then if true then return end"}),
		script("blob-layout/renews-foreign-type", "R8.unknown", "A key of another type is renewed.",
			onRenew("local expires, failure = blob(KEYS[1], now)",
				"local expires, failure = now, nil if call('TYPE', KEYS[1]).ok == 'none' or call('TYPE', KEYS[1]).ok == "+
					"'string' then expires, failure = blob(KEYS[1], now) end")),
		provided("prefix/blob-braces-accepted", "R8.prefix", "A key prefix with a brace is accepted.", bracesAccepted),
		provided("prefix/blob-lower-case", "R8.prefix", "Key prefixes are compared without regard to case.", lowerPrefix),
		script("blob-layout/reads-an-older-one", "R8.no-legacy", "A payload of an older layout is read.",
			onGet("local now = clock()", "local now = clock() if call('EXISTS', KEYS[1]) == 0 then KEYS[1] = "+
				"string.gsub(KEYS[1], '{zlink%-relocation%-v1}:', '') end")),
		script("blob-layout/in-the-other-domain", "R8.apart", "Payloads lie among the records of the Location Store.",
			onKeys(`{zlink%-relocation%-v1}:blob:`, `'{zlink-location-v3}:opaque:'`)),
	}
}

func replaced(b []byte, old, new string) []byte {
	if !bytes.HasPrefix(b, []byte("{")) {
		return b
	}
	return bytes.ReplaceAll(b, []byte(old), []byte(new))
}

// bracesAccepted takes any key prefix, and drops its braces.
func bracesAccepted() targets.Provider {
	return configured(func(c targets.StoreConfig) targets.StoreConfig {
		c.KeyPrefix = strings.NewReplacer("{", "", "}", "").Replace(c.KeyPrefix)
		return c
	})
}

func lowerPrefix() targets.Provider {
	return configured(func(c targets.StoreConfig) targets.StoreConfig {
		c.KeyPrefix = strings.ToLower(c.KeyPrefix)
		return c
	})
}

// onePrefix opens all stores of a case with the key prefix of the first one.
func onePrefix() targets.Provider {
	var mu sync.Mutex
	first := map[string]string{}
	return configured(func(c targets.StoreConfig) targets.StoreConfig {
		mu.Lock()
		defer mu.Unlock()
		run := caseOf(c.KeyPrefix)
		if f, ok := first[run]; ok {
			c.KeyPrefix = f
		} else {
			first[run] = c.KeyPrefix
		}
		return c
	})
}
