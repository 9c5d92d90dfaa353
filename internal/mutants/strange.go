package mutants

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// byVersion takes the member with the greatest version for the current one.
const byVersion = `
  if not found.err then
    local top
    for _, m in ipairs(call('ZRANGE', %s, 0, -1)) do
      local parts = string.byte(m) == 1 and cmsgpack.unpack(string.sub(m, 2))
      local n = parts and tonumber(parts[3])
      if n and (not top or n > top) then top = n found = {m} end
    end
  end
`

// strangeMutants do not reckon with well-formed state that is out of order or
// place (L9).
func strangeMutants() []Mutant {
	const wrongKey = "if not key_first or string.sub(m, key_first, key_last) ~= key then return end"
	const raw = "local raw = found[1]"
	return []Mutant{
		script("strange/numeric-version-read", "L9.zset", "A read takes the member with the greatest version.",
			onRead("return {text(now), found[1]}", fmt.Sprintf(byVersion, "KEYS[1]")+"return {text(now), found[1]}")),
		script("strange/numeric-version-condition", "L9.zset", "A condition takes the member with the greatest version.",
			onWrite("local current = found[1] and parse", fmt.Sprintf(byVersion, "record")+"local current = found[1] and parse")),
		script("strange/numeric-version-scan", "L9.zset", "A scan takes the member with the greatest version.",
			onScan(raw, fmt.Sprintf(byVersion, "record")+raw)),
		script("strange/put-below-the-top", "L9.score-above", "A Put below a score above the sequence is applied and never seen.",
			onWrite("call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0",
				"ARGV[i - 1] == 'delete' and call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0")),
		script("strange/delete-below-the-top", "L9.score-above",
			"A Delete below a score above the sequence is applied and never seen.",
			onWrite("call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0",
				"ARGV[i - 1] ~= 'delete' and call('ZCOUNT', ARGV[i], '(' .. issued, '+inf') > 0")),
		script("strange/row-is-empty-value", "L9.interop-scan", "A row of the index without a record is shown as an empty value.",
			onScan(raw, `local raw = found[1] or '\1' .. cmsgpack.pack({key, '', '0', 0, false})`)),
		script("strange/row-ends-the-scan", "L9.interop-scan", "A scan ends at a row of the index without a record.",
			onScan(raw, raw+" if not raw and call('EXISTS', record) == 0 then return false end")),
		script("strange/row-fails-the-scan", "L6.failure-scope", "A row of the index without a record fails every scan over it.",
			onScan(raw, raw+" if call('EXISTS', record) == 0 then return false, fail('a row without a record') end")),
		script("strange/another-key-in-conditions", "L9.foreign-key", "A condition does not look at the key in a member.",
			onWrite(wrongKey, "if not key_first then return end")),
		onLocation("strange/another-key-read", "L9.foreign-key", "A read does not look at the key in a member.",
			func(l *location) {
				l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
					r, err := l.LocationStore.Read(ctx, key)
					if spi.KindOf(err) != spi.KindStoreFailure {
						return r, err
					}
					var members []string
					if onRedis(l.config, func(c *redis.Client) (err error) {
						newest := redis.ZRangeArgs{Key: layout.RecordKey(l.config.KeyPrefix, string(key)), Start: 0, Stop: 0,
							Rev: true}
						members, err = c.ZRangeArgs(ctx, newest).Result()
						return err
					}, nil) != nil || len(members) == 0 {
						return r, err
					}
					m, unreadable := layout.DecodeMember([]byte(members[0]))
					if unreadable != nil {
						return r, err
					}
					return spi.Found{Value: spi.Value{Bytes: m.Value, Version: spi.Version(m.Version), ExpiresAt: m.ExpiresAt},
						StoreNow: hostNow()}, nil
				}
			}),
	}
}
