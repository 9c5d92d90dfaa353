package counter

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Retired are the logical keys of counters that are never read any more
// (L8.retired).
func Retired() []spi.Key {
	return []spi.Key{
		"zlink:v11:counter:object",
		"zlink:v11:counter:authority-owner",
		"zlink:v11:authority:object-generation-counter",
		"zlink:v11:authority:owner-generation-counter",
		"zlink:v11:authority-generations",
	}
}

// RetiredKey is one retired counter on a Redis.
type RetiredKey struct {
	Logical  spi.Key
	RedisKey string
	Exists   bool
}

// Flush is the dry run of a flush: what it would delete.
type Flush struct {
	client redis.Cmdable
	Keys   []RetiredKey
}

// PlanFlush looks up the retired counters' keys under a key prefix. It computes
// them by the layout's mapping, never from a scan, and changes nothing.
func PlanFlush(ctx context.Context, client redis.Cmdable, prefix string) (*Flush, error) {
	if err := layout.ValidatePrefix(prefix); err != nil {
		return nil, err
	}
	f := &Flush{client: client}
	for _, logical := range Retired() {
		key := layout.RecordKey(prefix, string(logical))
		n, err := client.Exists(ctx, key).Result()
		if err != nil {
			return nil, fmt.Errorf("look up retired counter %q: %w", logical, err)
		}
		f.Keys = append(f.Keys, RetiredKey{Logical: logical, RedisKey: key, Exists: n == 1})
	}
	return f, nil
}

// Apply deletes the retired counters' keys and nothing else, and returns how
// many there were. Applying twice is harmless.
func (f *Flush) Apply(ctx context.Context) (deleted int64, err error) {
	keys := make([]string, len(f.Keys))
	for i, k := range f.Keys {
		keys[i] = k.RedisKey
	}
	deleted, err = f.client.Del(ctx, keys...).Result()
	if err != nil {
		return 0, fmt.Errorf("delete retired counters: %w", err)
	}
	return deleted, nil
}
