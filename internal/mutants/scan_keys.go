package mutants

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// scanByKeys scans as a provider without an index does: SCAN over the Redis
// keys of its prefix, which is escaped in the pattern or not, then one command
// for each record. The cursor is the last key, and nothing is pinned.
func scanByKeys(l *location, escaped bool) func(context.Context, spi.ScanRequest) (spi.ScanResult, error) {
	connect := sync.OnceValues(func() (*redis.Client, error) { return client(l.config) })
	l.close = func() error {
		if c, err := connect(); err == nil {
			_ = c.Close()
		}
		return l.LocationStore.Close()
	}
	return func(ctx context.Context, request spi.ScanRequest) (spi.ScanResult, error) {
		if request.Cursor == nil { // for the arguments
			if _, err := l.LocationStore.Scan(ctx, request); err != nil {
				return nil, err
			}
		}
		after := ""
		if request.Cursor != nil {
			raw, err := base64.RawURLEncoding.DecodeString(string(*request.Cursor))
			if err != nil || len(raw) == 0 {
				return spi.Expired{}, nil
			}
			after = string(raw)
		}
		c, err := connect()
		if err != nil {
			return nil, err
		}
		now, err := c.Time(ctx).Result()
		if err != nil {
			return nil, failure(err.Error())
		}
		page := spi.Page{StoreNow: spi.Millis(now.UnixMilli())}
		items, err := liveItems(ctx, c, l.config.KeyPrefix, escaped, page.StoreNow)
		if err != nil {
			return nil, failure(err.Error())
		}
		size := 0
		for _, item := range items {
			if !strings.HasPrefix(string(item.Key), request.Prefix) || string(item.Key) <= after {
				continue
			}
			size += len(item.Key) + len(item.Value.Bytes) + len(item.Value.Version)
			if n := len(page.Items); n == request.Limit || n > 0 && size > spi.MaxPageBytes {
				next := spi.Cursor(base64.RawURLEncoding.EncodeToString([]byte(page.Items[n-1].Key)))
				page.Next = &next
				break
			}
			page.Items = append(page.Items, item)
		}
		return page, nil
	}
}

// liveItems are the live records, sorted by key.
func liveItems(ctx context.Context, c *redis.Client, prefix string, escaped bool, now spi.Millis) ([]spi.Item, error) {
	if escaped {
		prefix = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(prefix)
	}
	var items []spi.Item
	keys := c.Scan(ctx, 0, prefix+":{zlink-location-v3}:opaque:*", 1000).Iterator()
	for keys.Next(ctx) {
		members, err := c.ZRangeArgs(ctx, redis.ZRangeArgs{Key: keys.Val(), Start: 0, Stop: 0, Rev: true}).Result()
		if err != nil || len(members) == 0 {
			continue // a key of the bookkeeping
		}
		m, err := layout.DecodeMember([]byte(members[0]))
		if err == nil && !m.Tombstone && (m.ExpiresAt == spi.NoExpiry || m.ExpiresAt > now) {
			items = append(items, spi.Item{Key: spi.Key(m.Key),
				Value: spi.Value{Bytes: m.Value, Version: spi.Version(m.Version), ExpiresAt: m.ExpiresAt}})
		}
	}
	slices.SortFunc(items, func(a, b spi.Item) int { return strings.Compare(string(a.Key), string(b.Key)) })
	return items, keys.Err()
}
