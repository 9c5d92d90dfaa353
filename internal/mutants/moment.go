package mutants

import (
	"context"
	"sync"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// momentMutants go wrong in the very millisecond of an expiry, or in those
// beside it, and in no other.
func momentMutants() []Mutant {
	const (
		exists  = "local exists = current and live(current, now)"
		dying   = "current and not current.tombstone and current.expires "
		living  = "if member and live(member, began) then"
		expired = "if expires > now then return expires end"
		set     = "call('SET', key, payload, 'PXAT', text(expires))"
	)
	// condition is a mutant for conditions of one kind.
	condition := func(kind, is string) edit {
		return onWrite(exists, exists+" if kind == '"+kind+"' and "+dying+is+" end")
	}
	return []Mutant{
		onLocation("moment/read-found", "L3.expired-missing", "A value is found in the millisecond of its expiry.",
			func(l *location) { l.read = foundWithin(l, 0) }),
		onLocation("moment/read-found-after", "L3.expired-missing", "A value is found a millisecond after its expiry.",
			func(l *location) { l.read = foundWithin(l, 1) }),
		onLocation("moment/read-missing", "L3.expired-missing", "A value is Missing in the millisecond before its expiry.",
			func(l *location) {
				l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
					r, err := l.LocationStore.Read(ctx, key)
					if f, ok := r.(spi.Found); ok && f.Value.ExpiresAt == f.StoreNow+1 {
						return spi.Missing{StoreNow: f.StoreNow}, nil
					}
					return r, err
				}
			}),
		script("moment/missing-condition-late", "L4.missing",
			"A key is not missing to a condition in the millisecond of its expiry.",
			condition("missing", "== now then exists = true")),
		script("moment/missing-condition-early", "L4.missing",
			"A key is missing to a condition in the millisecond before its expiry.",
			condition("missing", "== now + 1 then exists = false")),
		script("moment/version-condition-late", "L4.version", "A version is current in the millisecond of its expiry.",
			condition("version", "== now then exists = true")),
		script("moment/version-condition-early", "L4.version", "A version is not current in the millisecond before its expiry.",
			condition("version", "== now + 1 then exists = false")),
		script("moment/value-condition-late", "L4.value", "The bytes of a key count in the millisecond of its expiry.",
			condition("value", "== now then exists = true")),
		script("moment/scan-late", "L5.complete", "A scan shows a value in the millisecond of its expiry.",
			onScan(living, "if member and (live(member, began) or not member.tombstone and member.expires == began) then")),
		script("moment/scan-early", "L5.complete", "A scan leaves a value out in the millisecond before its expiry.",
			onScan(living, "if member and live(member, began) and member.expires ~= began + 1 then")),
		script("moment/open-scan", "L5.snapshot",
			"A page leaves out what expires in its own millisecond, though the snapshot is older.",
			onScan(living, "if member and live(member, began) and member.expires ~= now then")),
		script("moment/clean-up-after-put", "L3.value-durable",
			"Clean-up removes a key that was put again in the millisecond of its expiry.",
			onWrite("    if retention ~= 0 then", `
    local old = call('ZREVRANGE', record, 0, 0)[1]
    old = old and parse(old, key)
    if old and old.expires == now then call('ZADD', ns .. 'due', text(now), key) end
    if retention ~= 0 then`),
			onWrite("local now = clock()", `
local now = clock()
for _, key in ipairs(call('ZRANGEBYSCORE', ns .. 'due', '-inf', text(now - 1))) do
  call('ZREM', ns .. 'due', key)
  call('DEL', call('HGET', map, key))
  call('HDEL', map, key)
  call('ZREM', index, key)
end`)),
		script("moment/delete-left-out", "L4.delete", "A Delete in the millisecond before the expiry is left to the expiry.",
			onWrite("if put or call('EXISTS', record) == 1 then", `
    local old = not put and call('ZREVRANGE', record, 0, 0)[1]
    old = old and parse(old, key)
    if put or old and old.expires ~= now + 1 then`)),

		script("moment/blob-put-lost", "R4.put",
			"A payload put in the millisecond of its expiry is AlreadyStored, and gone in the next.",
			onPut(expired, "return expires")),
		script("moment/blob-put-keeps-expiry", "R4.put", "A payload put in the millisecond of its expiry keeps the old expiry.",
			onPut(set,
				"call('SET', key, payload, unpack(call('PEXPIRETIME', key) == now and {'KEEPTTL'} or {'PXAT', text(expires)}))")),
		script("moment/blob-put-stored-early", "R4.put", "The same payload put two milliseconds before its expiry is Stored.",
			onPut(expired, "if expires > now + 2 then return expires end")),
		script("moment/blob-renew-lost", "R4.renew", "A payload renewed in the millisecond of its expiry is gone in the next.",
			onRenew(expired, "return expires"), onRenew("call('PEXPIREAT', KEYS[1], text(expires))",
				"if call('PEXPIRETIME', KEYS[1]) > now then call('PEXPIREAT', KEYS[1], text(expires)) end")),
		script("moment/blob-renew-early", "R4.renew", "A payload can't be renewed two milliseconds before its expiry.",
			onRenew(expired, "if expires > now + 2 then return expires end")),
		script("moment/blob-read-early", "R4.read", "A payload is Missing two milliseconds before its expiry.",
			onGet(expired, "if expires > now + 2 then return expires end")),
		script("moment/blob-read-late", "R4.read", "A payload is kept for four milliseconds more than it says.",
			onPut(set, "call('SET', key, payload, 'PXAT', text(expires + 4))"),
			onGet("local expires, failure = blob(KEYS[1], now)",
				"local expires, failure = blob(KEYS[1], now) expires = expires and expires - 4")),
		script("moment/blob-delete-left-out", "R4.delete",
			"A Delete of a payload two milliseconds before its expiry is left to the expiry.",
			edit{"relocation_delete", "call('DEL', KEYS[1])",
				"if call('PEXPIRETIME', KEYS[1]) ~= clock() + 2 then call('DEL', KEYS[1]) end"}),
	}
}

// foundWithin answers what was found before for so many milliseconds from its
// expiry on.
func foundWithin(l *location, ms spi.Millis) func(context.Context, spi.Key) (spi.ReadResult, error) {
	var last sync.Map
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		for _, m := range w.Mutations {
			last.Delete(m.MutationKey())
		}
		return l.LocationStore.Write(ctx, w)
	}
	return func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		r, err := l.LocationStore.Read(ctx, key)
		switch r := r.(type) {
		case spi.Found:
			last.Store(key, r)
		case spi.Missing:
			if f, ok := last.Load(key); ok && r.StoreNow-f.(spi.Found).Value.ExpiresAt == ms {
				found := f.(spi.Found)
				found.StoreNow = r.StoreNow
				return found, nil
			}
		}
		return r, err
	}
}
