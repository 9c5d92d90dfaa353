package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var errEnough = errors.New("enough")

const scanCount = 5000 // keys that Redis looks at in one step

// eachKey hands out the keys that start with the prefix, in portions.
func eachKey(ctx context.Context, c *redis.Client, prefix string, f func([]string) error) error {
	var cursor uint64
	for {
		keys, next, err := c.Scan(ctx, cursor, EscapeGlob(prefix)+"*", scanCount).Result()
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
	return eachKey(ctx, c, prefix, func(keys []string) error { return unlink(ctx, c, keys) })
}

func unlink(ctx context.Context, c *redis.Client, keys []string) error {
	_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, k := range keys { // one by one: on a cluster they may live in different slots
			p.Unlink(ctx, k)
		}
		return nil
	})
	return err
}

// sweeper removes the keys of cases that have ended while others run. One look
// at all keys serves all of them: on a Redis with millions of foreign keys a
// look for each case would take longer than the cases.
type sweeper struct {
	client *redis.Client
	prefix string // of all keys of the run
	size   int    // length of a case's prefix

	mu    sync.Mutex
	ended map[string]bool // prefixes of cases
	wake  chan struct{}
}

// add leaves the keys of an ended case to the sweeper.
func (s *sweeper) add(prefix string) {
	s.mu.Lock()
	s.ended[prefix] = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sweeps until ctx ends. It rests four times as long as it works.
func (s *sweeper) run(ctx context.Context) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		ended := s.ended
		s.ended = map[string]bool{}
		s.mu.Unlock()
		started := time.Now()
		// What stays, and all of it on a Redis that is gone, is left to the last look.
		_ = eachKey(ctx, s.client, s.prefix, func(keys []string) error {
			return unlink(ctx, s.client, slices.DeleteFunc(keys,
				func(k string) bool { return len(k) < s.size || !ended[k[:s.size]] }))
		})
		select {
		case <-time.After(4 * time.Since(started)):
		case <-ctx.Done():
			return
		}
	}
}

// EscapeGlob is the pattern that means the text itself to Redis.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
