package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
)

// leastRedis is the first Redis with PEXPIRETIME, by which the reference reads
// the exact millisecond at which a payload expires. All else that it uses is
// older.
const leastRedis = 7

// oldRedis says that a server is too old for the reference. One that hides its
// version is judged by its commands alone; every Valkey is new enough.
func oldRedis(s *redisenv.Server) error {
	major, _, _ := strings.Cut(s.Version(), ".")
	n, err := strconv.Atoi(major)
	if err != nil || n >= leastRedis {
		return nil
	}
	return fmt.Errorf("Redis %d.0 or newer is needed, and this is %s", leastRedis, s.Version())
}

// probes are the commands that the harness and the scripts of the reference
// use, each with the arguments of its mildest form; @ stands for a key of the
// probe. They work on no value but their own, which the last ones remove.
var probes = []string{
	"EVAL return{} 1 @", "EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 @",
	"TIME", "TYPE @", "EXISTS @",
	"SET @ 1 PX 1000", "GET @", "GETRANGE @ 0 0", "STRLEN @", "INCRBY @ 1",
	"PTTL @", "PEXPIRE @ 1000", "PEXPIREAT @ 32503680000000", "PEXPIRETIME @", "DEL @",
	"HSET @ f v", "HGET @ f", "HMGET @ f", "HLEN @", "HDEL @ f", "DEL @",
	"ZADD @ 1 m", "ZCARD @", "ZCOUNT @ 0 1", "ZSCORE @ m", "ZRANGE @ 0 0", "ZRANGEBYLEX @ - +", "ZRANGEBYSCORE @ 0 1",
	"ZREVRANGE @ 0 0", "ZREVRANGEBYSCORE @ 1 0", "ZREM @ m", "ZREMRANGEBYRANK @ 0 0", "ZREMRANGEBYSCORE @ 0 1",
	"SCAN 0 MATCH @ COUNT 1", "DEL @", "UNLINK @",
}

// missingCommands says which of the commands that every run needs Redis does
// not let it use: what the provider then can't do is not its fault. A trial
// tells more than ACL DRYRUN, which itself takes a permission.
func missingCommands(ctx context.Context, c *redis.Client, key string) error {
	var tried []*redis.Cmd
	_, _ = c.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, probe := range probes {
			var args []any
			for _, word := range strings.Fields(strings.ReplaceAll(probe, "@", key)) {
				args = append(args, word)
			}
			tried = append(tried, p.Do(ctx, args...))
		}
		return nil
	})
	var denied, unknown, keys []string
	note := func(names *[]string, name string) {
		if !slices.Contains(*names, name) {
			*names = append(*names, name)
		}
	}
	for _, cmd := range tried {
		var answer redis.Error
		err := cmd.Err()
		if err == nil {
			continue
		}
		if !errors.As(err, &answer) {
			return err
		}
		name := strings.ToUpper(cmd.Name())
		switch text := answer.Error(); {
		case strings.HasPrefix(text, "ERR unknown command"):
			note(&unknown, name)
		case !strings.HasPrefix(text, "NOPERM"): // what else ails it, its next step meets
		case strings.Contains(text, "run the"):
			note(&denied, name)
		default:
			note(&keys, name)
		}
	}
	var lacks []string
	if len(denied) > 0 {
		lacks = append(lacks, "its user may not run "+strings.Join(denied, ", "))
	}
	if len(keys) > 0 {
		lacks = append(lacks, "its user may not use keys that start with zlc- in "+strings.Join(keys, ", "))
	}
	if len(unknown) > 0 {
		lacks = append(lacks, "it does not know "+strings.Join(unknown, ", "))
	}
	if len(lacks) == 0 {
		return nil
	}
	return errors.New("every run needs more: " + strings.Join(lacks, "; "))
}
