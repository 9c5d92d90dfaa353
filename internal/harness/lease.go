package harness

import (
	"context"
	"regexp"
	"time"

	"github.com/redis/go-redis/v9"
)

// Every key of a run starts with zlc-{run id}-. While the run lives it holds a
// lease at zlc-{run id}; a run that was killed leaves keys without a lease, and
// the next run removes them and nothing else.
const (
	leaseFor   = 5 * time.Minute // long enough for a run whose machine hangs
	leaseRenew = time.Minute
)

var runKey = regexp.MustCompile(`^(zlc-[0-9a-f]{12})-[0-9a-f]{8}`)

func leaseKey(runID string) string { return "zlc-" + runID }

// holdLease takes the run's lease and renews it until the returned function is
// called, which gives it back.
func holdLease(ctx context.Context, c *redis.Client, runID string) (release func(), err error) {
	if err := c.Set(ctx, leaseKey(runID), "lease", leaseFor).Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(leaseRenew)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A failed renewal is made up for by the next one.
				_ = c.PExpire(ctx, leaseKey(runID), leaseFor).Err()
			}
		}
	}()
	return func() {
		cancel()
		<-done
		limited, stop := context.WithTimeout(context.Background(), cleanupLimit)
		defer stop()
		_ = c.Del(limited, leaseKey(runID)).Err()
	}, nil
}

// removeLeftovers removes the keys of runs that no longer hold their lease.
func removeLeftovers(ctx context.Context, c *redis.Client) error {
	alive := map[string]bool{}
	return eachKey(ctx, c, "zlc-", func(keys []string) error {
		for _, k := range keys {
			m := runKey.FindStringSubmatch(k)
			if m == nil {
				continue
			}
			if _, known := alive[m[1]]; !known {
				n, err := c.Exists(ctx, m[1]).Result()
				if err != nil {
					return err
				}
				alive[m[1]] = n == 1
			}
			if !alive[m[1]] {
				if err := c.Unlink(ctx, k).Err(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
