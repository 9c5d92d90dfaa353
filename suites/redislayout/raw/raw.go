// Package raw reads and writes the official Redis layout past any provider:
// what the harness says about bytes comes from Redis itself, and what it
// plants stands there as another provider would have written it.
package raw

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Keys are the Redis keys under one key prefix. A failing Redis is trouble of
// the run; a key that breaks the layout is a failure of the case.
type Keys struct {
	t      *harness.T
	redis  *redis.Client
	prefix string
}

// On looks at the case's own key prefix on the main server.
func On(t *harness.T) Keys { return At(t, t.Redis(), t.KeyPrefix()) }

// At looks at a key prefix of the server behind the client.
func At(t *harness.T, c *redis.Client, keyPrefix string) Keys {
	return Keys{t: t, redis: c, prefix: keyPrefix}
}

// Entry is the current member of a record.
type Entry struct {
	Score  float64
	Bytes  []byte // as they stand in Redis
	Member layout.Member
}

// Newest returns the member with the highest score of a key's record, or false
// if the record's Redis key is gone. Anything but a sorted set with a readable
// member there ends the case.
func (k Keys) Newest(key spi.Key) (Entry, bool) {
	record := layout.RecordKey(k.prefix, string(key))
	if kind := k.Type(record); kind == "none" {
		return Entry{}, false
	} else if kind != "zset" {
		k.t.Fatalf(k.t.Closest("L9.zset"), "the record of %.60q, Redis key %s, is a %s, expected a zset", key, record, kind)
	}
	top := Must(k.redis.ZRevRangeWithScores(k.t.Context(), record, 0, 0).Result())(k.t, "ZREVRANGE")
	if len(top) == 0 {
		return Entry{}, false
	}
	e := Entry{Score: top[0].Score, Bytes: []byte(top[0].Member.(string))}
	if e.Score != math.Trunc(e.Score) || e.Score < 1 {
		k.t.Failf(k.t.Closest("L9.zset"), "the score %v of %.60q does not come from an INCR counter", e.Score, key)
	}
	var err error
	if e.Member, err = layout.DecodeMember(e.Bytes); err != nil {
		k.t.Fatalf(k.t.Closest("L9.member"), "the current member of %.60q is not in the official form: %v; it begins with %.48x",
			key, err, e.Bytes)
	}
	return e, true
}

// Current is Newest of a record that must be there: if it is not, some other
// Redis key holds what the provider stored.
func (k Keys) Current(key spi.Key) Entry {
	e, ok := k.Newest(key)
	if !ok {
		k.t.Fatalf(k.t.Closest("L9.key"), "no record of %.60q at the Redis key %s; the keys under the prefix are %.400q",
			key, layout.RecordKey(k.prefix, string(key)), k.All())
	}
	return e
}

// Shown describes the newest member of a key's record, whatever it is, for the
// evidence.
func (k Keys) Shown(key spi.Key) string {
	top, err := k.redis.ZRevRangeWithScores(k.t.Context(), layout.RecordKey(k.prefix, string(key)), 0, 0).Result()
	switch {
	case err != nil:
		return err.Error()
	case len(top) == 0:
		return "none"
	}
	return fmt.Sprintf("score %.0f, bytes %.400q", top[0].Score, top[0].Member)
}

// Blob are the raw bytes of a payload that must be there: if it is not, some
// other Redis key holds what the provider stored.
func (k Keys) Blob(ref spi.Reference) []byte {
	key := layout.BlobKey(k.prefix, string(ref))
	b, err := k.redis.Get(k.t.Context(), key).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		k.t.Fatalf(k.t.Closest("R8.key"), "no payload of %.60q at the Redis key %.200q; the keys under the prefix are %.400q",
			ref, key, k.All())
	case redis.HasErrorPrefix(err, "WRONGTYPE"):
		k.t.Fatalf(k.t.Closest("R8.string", "R8.key"), "the payload of %.60q, Redis key %.200q, is a %s, expected a string",
			ref, key, k.Type(key))
	}
	return Must(b, err)(k.t, "GET")
}

// put adds a member as another provider does: with the next score, and found
// by scans (L9.interop-scan, L9.interop-sequence).
var put = redis.NewScript(`
local score = redis.call('INCR', KEYS[1])
redis.call('ZADD', KEYS[2], score, ARGV[2])
redis.call('ZADD', KEYS[3], 0, ARGV[1])
redis.call('HSET', KEYS[4], ARGV[1], KEYS[2])
return score`)

// Put plants member bytes as the current ones of a key.
func (k Keys) Put(key spi.Key, member []byte) {
	keys := []string{layout.SequenceKey(k.prefix), layout.RecordKey(k.prefix, string(key)), layout.IndexKey(k.prefix),
		layout.MapKey(k.prefix)}
	if err := put.Run(k.t.Context(), k.redis, keys, string(key), member).Err(); err != nil {
		k.t.Fatalf(k.t.Closest("L9.interop-sequence"),
			"a record could not be added through the shared keys sequence, index and map: %v", err)
	}
}

// PutMember plants a well-formed member of its own key.
func (k Keys) PutMember(m layout.Member) { k.Put(spi.Key(m.Key), layout.EncodeMember(nil, m)) }

// register lets scans find a record without touching its key.
var register = redis.NewScript(`
redis.call('ZADD', KEYS[1], 0, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1`)

// Register adds a key to the shared index and map, whatever its record is.
func (k Keys) Register(key spi.Key) {
	keys := []string{layout.IndexKey(k.prefix), layout.MapKey(k.prefix)}
	if err := register.Run(k.t.Context(), k.redis, keys, string(key), layout.RecordKey(k.prefix, string(key))).Err(); err != nil {
		k.t.Fatalf(k.t.Closest("L9.interop-scan"), "a record could not be added to the shared keys index and map: %v", err)
	}
}

// Pack lets Redis's own cmsgpack write a member, an encoder that is nobody's
// here (L9.member).
func (k Keys) Pack(m layout.Member) []byte {
	const script = `return '\1' .. cmsgpack.pack({ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'})`
	tombstone := "0"
	if m.Tombstone {
		tombstone = "1"
	}
	s := Must(k.redis.Eval(k.t.Context(), script, nil, m.Key, m.Value, m.Version, int64(m.ExpiresAt), tombstone).Text())(k.t,
		"EVAL")
	return []byte(s)
}

// Type is the Redis type of a key, "none" if it is absent.
func (k Keys) Type(redisKey string) string {
	return Must(k.redis.Type(k.t.Context(), redisKey).Result())(k.t, "TYPE")
}

// Dump is a key's whole content in Redis's own form, "" if it is absent.
func (k Keys) Dump(redisKey string) string {
	s, err := k.redis.Dump(k.t.Context(), redisKey).Result()
	if errors.Is(err, redis.Nil) {
		return ""
	}
	return Must(s, err)(k.t, "DUMP")
}

// All lists the Redis keys under the prefix, sorted.
func (k Keys) All() []string { return k.scan(harness.EscapeGlob(k.prefix) + ":*") }

// Server lists the Redis keys of the whole server, which must be the case's own.
func (k Keys) Server() []string { return k.scan("*") }

func (k Keys) scan(pattern string) []string {
	var keys []string
	each := k.redis.Scan(k.t.Context(), 0, pattern, 1000).Iterator()
	for each.Next(k.t.Context()) {
		keys = append(keys, each.Val())
	}
	if err := each.Err(); err != nil {
		k.t.Troublef("SCAN failed: %v", err)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// HashTag is the part of a key that Redis Cluster hashes: what stands between
// the first { and the next }, or the whole key.
func HashTag(redisKey string) string {
	_, rest, open := strings.Cut(redisKey, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !open || !closed || tag == "" {
		return redisKey
	}
	return tag
}

// Must returns the result of a raw command, or ends the case as trouble.
func Must[R any](r R, err error) func(t *harness.T, command string) R {
	return func(t *harness.T, command string) R {
		if err != nil {
			t.Troublef("the raw command %s failed: %v", command, err)
		}
		return r
	}
}
