package mutants

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/zlink-systems/zlink-conformance/spi"
)

// valueMutants break what a single value of the Location Store is (L2, L3).
func valueMutants() []Mutant {
	return []Mutant{
		onLocation("read/two-observations", "L2.observation",
			"Bytes are read with one command, version and expiry with the next.", tornRead),
		onLocation("read/cached", "L2.observation", "A value that was read once is answered from a cache.", cachedRead),
		script("read/extends-expiry", "L2.observation", "Reading a value that expires pushes its expiry out by an hour.",
			onRead("local now = clock()\n", "local now = clock()\n"+touchOnRead)),
		onLocation("read/last-put", "L3.value-bytes L2.observation",
			"A read answers the bytes that the instance put last, whatever the key.", lastPut),
		onLocation("read/absent-is-empty", "L2.observation", "An absent key reads as an empty value.", func(l *location) {
			l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
				r, err := l.LocationStore.Read(ctx, key)
				if m, ok := r.(spi.Missing); ok {
					return spi.Found{Value: spi.Value{Bytes: []byte{}, Version: "0"}, StoreNow: m.StoreNow}, err
				}
				return r, err
			}
		}),
		onLocation("read/expiry-left-out", "L2.observation", "A read does not tell the expiry.", func(l *location) {
			l.read = changeFound(l, func(f *spi.Found) { f.Value.ExpiresAt = spi.NoExpiry })
		}),

		keys("key/short-limit", "L3.key-length", "Keys of more than 255 bytes are refused.", func(k string) (string, error) {
			if len(k) > 255 {
				return "", spi.Argument("key too long")
			}
			return k, nil
		}),
		keys("key/length-in-characters", "L3.key-length", "The length of a key is counted in characters.",
			func(k string) (string, error) {
				if utf8.RuneCountInString(k) <= spi.MaxKeyBytes && len(k) > spi.MaxKeyBytes {
					return strings.ToValidUTF8(k[:spi.MaxKeyBytes], ""), nil
				}
				return k, nil
			}),
		keys("key/length-in-utf-16", "L3.key-length",
			"A key counts three bytes for every character beyond ASCII, so that long ones are refused.",
			func(k string) (string, error) {
				n := 0
				for _, r := range k {
					if n++; r > 0x7f {
						n += 3
					}
				}
				if n > spi.MaxKeyBytes {
					return "", spi.Argument("key too long")
				}
				return k, nil
			}),
		keys("key/empty-accepted", "L3.key-length", "An empty key is accepted.", func(k string) (string, error) {
			if k == "" {
				return "(empty)", nil
			}
			return k, nil
		}),
		keys("key/lower-case", "L3.key-identity", "Keys are compared without regard to case.", plain(strings.ToLower)),
		keys("key/trimmed", "L3.key-identity", "Space around a key is dropped.", plain(func(k string) string {
			if t := strings.TrimSpace(k); t != "" {
				return t
			}
			return k
		})),
		keys("key/normalized", "L3.key-identity", "Keys are put in Unicode normalization form C.", plain(norm.NFC.String)),
		keys("key/cut-at-nul", "L3.key-identity", "A key ends at its first NUL.", plain(func(k string) string {
			if before, _, found := strings.Cut(k, "\x00"); found && before != "" {
				return before
			}
			return k
		})),
		keys("key/pattern-characters", "L3.key-identity", "Characters of patterns and hash tags in keys are all the same.",
			plain(func(k string) string {
				return strings.NewReplacer("*", "_", "?", "_", "[", "_", "]", "_", "{", "_", "}", "_", ":", "_").Replace(k)
			})),
		keys("key/short-digest", "L3.key-identity", "Keys are told apart by a digest of 12 bits.", plain(func(k string) string {
			if k == "" {
				return k
			}
			return fmt.Sprintf("%03x", crc32.ChecksumIEEE([]byte(k))&0xfff)
		})),
		keys("key/invalid-utf8-replaced", "L3.key-utf8",
			"Bytes of a key that are no UTF-8 become U+FFFD instead of an argument error.", plain(func(k string) string {
				return strings.ToValidUTF8(k, "\uFFFD")
			})),

		script("value/empty-is-missing", "L3.value-size", "An empty value reads as Missing.",
			onWrite("local exists = current and live(current, now)",
				"local exists = current and live(current, now) and current.size > 0")),
		values("value/short-limit", "L3.value-size", "Values of more than 512 KiB are refused.", func(b []byte) ([]byte, error) {
			if len(b) > 512<<10 {
				return nil, spi.Argument("value too large")
			}
			return b, nil
		}),
		values("value/cut-at-limit", "L3.value-size", "A value that is too large is cut instead of refused.",
			func(b []byte) ([]byte, error) {
				return b[:min(len(b), spi.MaxValueBytes)], nil
			}),
		values("value/as-text", "L3.value-bytes", "Bytes that are no UTF-8 are replaced.", func(b []byte) ([]byte, error) {
			return []byte(strings.ToValidUTF8(string(b), "?")), nil
		}),
		values("value/cut-at-nul", "L3.value-bytes", "A value ends at its first NUL.", func(b []byte) ([]byte, error) {
			before, _, _ := strings.Cut(string(b), "\x00")
			return []byte(before), nil
		}),
		script("value/every-one-expires", "L3.value-durable", "A value without retention expires after an hour.",
			onWrite("if retention ~= 0 then", "expires = now + 3600000 if retention ~= 0 then")),
		script("value/short-lived", "L3.value-durable", "A value without retention is gone a moment later.",
			onWrite("if retention ~= 0 then", "expires = now + 25 if retention ~= 0 then")),

		versions("version/too-long", "L3.version-form", "A version is longer than 4096 bytes.",
			strings.Repeat("v", spi.MaxVersionBytes)),
		versions("version/not-utf8", "L3.version-form", "A version is not UTF-8.", "\xff"),
		script("version/comes-again", "L3.version-fresh", "Seven versions are issued in turn.", issued("text(score % 7 + 1)")...),
		script("version/from-content", "L3.version-fresh", "A version is the digest of the value.",
			issued("redis.sha1hex(value)")...),
		script("version/starts-over", "L3.version-fresh", "The versions of a key start over when it was deleted or has expired.",
			issued("starts_over(record, key, now)")[0], onWrite("local issued = call", startsOver+"local issued = call")),
		script("version/same-bytes-not-put", "L3.version-fresh", "A Put of the bytes that are there is left out.",
			onWrite("if put or call('EXISTS', record) == 1 then", `local old = call('ZREVRANGE', record, 0, 0)[1]
    local same = old and parse(old, key)
    if same and not same.tombstone and put and string.sub(old, same.first, same.last) == value then
      reply[#reply] = same.version
    elseif put or call('EXISTS', record) == 1 then`)),

		onLocation("expiry/late", "L3.expired-missing", "A value is found for some time after it has expired.", foundAgain),
		script("expiry/condition-sees-expired", "L4.missing L4.version", "A condition takes an expired value for a live one.",
			onWrite("local exists = current and live(current, now)", "local exists = current and not current.tombstone")),
		onLocation("buffer/one-for-all-values", "L3.result-stable", "All reads return the same buffer.", func(l *location) {
			var mu sync.Mutex
			buffer := make([]byte, spi.MaxValueBytes)
			l.read = changeFound(l, func(f *spi.Found) {
				mu.Lock()
				defer mu.Unlock()
				f.Value.Bytes = buffer[:copy(buffer, f.Value.Bytes)]
			})
		}),
		onLocation("buffer/input-kept", "L6.input-bytes", "A value is kept without a copy and answered from there.", keptInput),
	}
}

// touchOnRead rewrites the newest member with a later expiry.
const touchOnRead = `
do
  local top = call('TYPE', KEYS[1]).ok == 'zset' and call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES') or {}
  if top[1] and string.byte(top[1]) == 1 then
    local m = cmsgpack.unpack(string.sub(top[1], 2))
    if m[4] ~= 0 and m[4] > now then
      m[4] = m[4] + 3600000
      call('ZREM', KEYS[1], top[1])
      call('ZADD', KEYS[1], top[2], '\1' .. cmsgpack.pack(m))
    end
  end
end
`

// issued are edits after which Put issues the version that a Lua expression
// gives, while the score goes on growing.
func issued(version string) []edit {
	return []edit{
		onWrite("local version = text(score)", "local version = not put and text(score) or "+version),
		onWrite("call('ZADD', record, version, member)", "call('ZADD', record, text(score), member)"),
		onWrite("trim(record, version, low, high)", "trim(record, text(score), low, high)"),
	}
}

const startsOver = `
local function starts_over(record, key, now)
  local newest = call('ZREVRANGE', record, 0, 0)[1]
  local member = newest and parse(newest, key)
  if member and live(member, now) then return text(tonumber(member.version) + 1) end
  return '1'
end
`

// changeFound reads and changes a value that was found.
func changeFound(l *location, change func(*spi.Found)) func(context.Context, spi.Key) (spi.ReadResult, error) {
	return func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		r, err := l.LocationStore.Read(ctx, key)
		if f, ok := r.(spi.Found); ok {
			change(&f)
			return f, err
		}
		return r, err
	}
}

func tornRead(l *location) {
	l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		first, err := l.LocationStore.Read(ctx, key)
		if err != nil {
			return nil, err
		}
		second, err := l.LocationStore.Read(ctx, key)
		f, found := second.(spi.Found)
		if b, ok := first.(spi.Found); ok && found {
			f.Value.Bytes = b.Value.Bytes
			return f, nil
		}
		return second, err
	}
}

func cachedRead(l *location) {
	var cache sync.Map
	l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		if r, ok := cache.Load(key); ok {
			return r.(spi.ReadResult), nil
		}
		r, err := l.LocationStore.Read(ctx, key)
		if f, ok := r.(spi.Found); ok {
			cache.Store(key, f)
		}
		return r, err
	}
}

func lastPut(l *location) {
	var last atomic.Value
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		r, err := l.LocationStore.Write(ctx, w)
		if _, ok := r.(spi.Applied); ok {
			for _, m := range w.Mutations {
				if p, ok := m.(spi.Put); ok {
					last.Store(slices.Clone(p.Bytes))
				}
			}
		}
		return r, err
	}
	l.read = changeFound(l, func(f *spi.Found) {
		if b, ok := last.Load().([]byte); ok {
			f.Value.Bytes = slices.Clone(b)
		}
	})
}

// foundAgain answers what it has found before when a value is Missing only
// because it has expired.
func foundAgain(l *location) {
	var last sync.Map
	l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		r, err := l.LocationStore.Read(ctx, key)
		switch r := r.(type) {
		case spi.Found:
			if r.Value.ExpiresAt != spi.NoExpiry {
				last.Store(key, r)
			}
		case spi.Missing:
			if f, ok := last.Load(key); ok && f.(spi.Found).Value.ExpiresAt <= r.StoreNow {
				found := f.(spi.Found)
				found.StoreNow = r.StoreNow
				return found, nil
			}
		}
		return r, err
	}
}

func keptInput(l *location) {
	var kept sync.Map
	l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
		for _, m := range w.Mutations {
			if p, ok := m.(spi.Put); ok {
				kept.Store(p.Key, p.Bytes)
			}
		}
		return l.LocationStore.Write(ctx, w)
	}
	l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
		r, err := l.LocationStore.Read(ctx, key)
		if f, ok := r.(spi.Found); ok {
			if b, ok := kept.Load(key); ok {
				f.Value.Bytes = b.([]byte)
			}
			return f, err
		}
		return r, err
	}
}
