package harness

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

var errEnough = errors.New("enough")

// eachKey hands out the keys that start with the prefix, in portions.
func eachKey(ctx context.Context, c *redis.Client, prefix string, f func([]string) error) error {
	var cursor uint64
	for {
		keys, next, err := c.Scan(ctx, cursor, escapeGlob(prefix)+"*", 1000).Result()
		if err != nil {
			return err
		}
		if len(keys) > 0 {
			if err := f(keys); err != nil {
				return err
			}
		}
		if next == 0 {
			return nil
		}
		cursor = next
	}
}

// removeKeys deletes the keys that start with the prefix and nothing else.
func removeKeys(ctx context.Context, c *redis.Client, prefix string) error {
	if prefix == "" {
		return errors.New("refusing to remove keys without a prefix")
	}
	return eachKey(ctx, c, prefix, func(keys []string) error {
		_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, k := range keys { // one by one: on a cluster they may live in different slots
				p.Unlink(ctx, k)
			}
			return nil
		})
		return err
	})
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
