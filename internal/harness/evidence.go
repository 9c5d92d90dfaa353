package harness

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/reference/layout"
)

// Bounds of the raw Redis state that a report shows.
const (
	maxStateKeys    = 12
	maxStateMembers = 4
)

// redisState shows the raw keys below a prefix: the evidence that does not go
// through any provider.
func redisState(ctx context.Context, c *redis.Client, prefix string) []string {
	var lines []string
	err := eachKey(ctx, c, prefix, func(keys []string) error {
		for _, k := range keys {
			if len(lines) == maxStateKeys {
				return errEnough
			}
			lines = append(lines, quote(strings.TrimPrefix(k, prefix))+" "+keyState(ctx, c, k))
		}
		return nil
	})
	switch {
	case err == errEnough:
		lines = append(lines, "… more keys")
	case err != nil:
		lines = append(lines, "the state could not be read: "+err.Error())
	}
	return lines
}

func keyState(ctx context.Context, c *redis.Client, key string) string {
	kind, err := c.Type(ctx, key).Result()
	if err != nil {
		return err.Error()
	}
	switch kind {
	case "string":
		n, _ := c.StrLen(ctx, key).Result()
		head, _ := c.GetRange(ctx, key, 0, maxShownBytes-1).Result()
		ttl, _ := c.PTTL(ctx, key).Result()
		return fmt.Sprintf("string of %d bytes %s ttl %s", n, strconv.Quote(head), describeTTL(ttl.Milliseconds(), int64(ttl)))
	case "zset":
		return "zset " + zsetState(ctx, c, key)
	case "hash":
		n, _ := c.HLen(ctx, key).Result()
		return fmt.Sprintf("hash of %d fields", n)
	}
	return kind
}

// describeTTL: go-redis hands Redis's -1 (none) and -2 (gone) on as nanoseconds.
func describeTTL(ms, raw int64) string {
	if raw < 0 {
		return "none"
	}
	return fmt.Sprintf("%d ms", ms)
}

// zsetState shows the newest members, decoded where they are records.
func zsetState(ctx context.Context, c *redis.Client, key string) string {
	n, _ := c.ZCard(ctx, key).Result()
	members, err := c.ZRevRangeWithScores(ctx, key, 0, maxStateMembers-1).Result()
	if err != nil {
		return err.Error()
	}
	s := fmt.Sprintf("of %d", n)
	for _, z := range members {
		raw, _ := z.Member.(string)
		s += fmt.Sprintf("; %s: %s", strconv.FormatFloat(z.Score, 'f', -1, 64), memberState([]byte(raw)))
	}
	return s
}

func memberState(raw []byte) string {
	m, err := layout.DecodeMember(raw)
	if err != nil {
		return describeBytes(raw)
	}
	return fmt.Sprintf("{key %s, value %s, version %s, expiresAtMs %d, tombstone %t}",
		quote(m.Key), describeBytes(m.Value), quote(m.Version), m.ExpiresAt, m.Tombstone)
}
