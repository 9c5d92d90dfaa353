package countercases

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// keyCases: where the counters stand, and those that are retired (L8.key,
// L8.retired).
func keyCases() []harness.Case {
	return []harness.Case{
		locationCase("keys/physical", "Each counter stands at the Redis key of its logical key and holds a bare decimal.",
			"L8.key L8.decimal", keysPhysical, harness.NeedLayout),
		locationCase("keys/shared", "The target and the reference go on from each other's values, block by block.",
			"L8.key L8.block", keysShared, harness.NeedLayout),
		locationCase("retired/never-read", "Values under the five retired keys have no part in what is issued "+
			"and are left as they are.",
			"L8.retired", retiredNeverRead),
		locationCase("retired/flush", "The flush's dry run finds the retired keys that the target wrote and changes nothing; "+
			"the flush deletes those alone.",
			"L8.retired", retiredFlush, harness.NeedLayout),
	}
}

// physical are the Redis keys behind the prefix, by their SHA-256 as the golden
// fixture has it.
var physical = map[spi.Key]string{
	counter.Owner:          "aeff34c0b34bd01aadce1756867cacf350e82a49c5bd90ef0ccf671b12e13c10",
	counter.Object:         "7c58a19dad519fb7f5eac19544d79a9c979294adfac8e18ef9754b7e4265c98c",
	counter.AuthorityOwner: "3394040f8937d4283c2cd24e4a3e82dd79f41e3eb2cb9d325bee371b5cfe8497",
}

func keysPhysical(t *harness.T) {
	i := targets(t)
	for n, key := range counters() {
		i.must("L8.key", key, int64(n)+41, 1, nil)
		redisKey := t.KeyPrefix() + ":{zlink-location-v3}:opaque:" + physical[key]
		if kind := raw.On(t).Type(redisKey); kind != "zset" && kind != "none" {
			t.Failf("L8.key", "the counter %q is at the Redis key %s a %s, expected a zset", key, redisKey, kind)
			continue
		}
		newest := raw.Must(t.Redis().ZRangeArgs(t.Context(),
			redis.ZRangeArgs{Key: redisKey, Start: 0, Stop: 0, Rev: true}).Result())(t, "ZRANGE")
		if len(newest) == 0 {
			t.Failf("L8.key", "the counter %q is not at the Redis key %s", key, redisKey)
			continue
		}
		m, err := layout.DecodeMember([]byte(newest[0]))
		if err != nil {
			t.Failf("L8.key", "the member of the counter %q is unreadable: %v", key, err)
			continue
		}
		t.EqualBytes("L8.decimal", fmt.Sprintf("the row of %q in Redis", key), fmt.Append(nil, n+42), m.Value)
	}
}

func keysShared(t *harness.T) {
	i, reference := targets(t), references(t)
	turns := []issuer{i, reference, reference, i, reference}
	for _, key := range counters() {
		first := int64(1)
		for k, i := range turns {
			n := int64(k + 1)
			i.must("L8.key", key, n, first, nil)
			first += n
		}
		for _, i := range turns {
			t.EqualBytes("L8.key", "the row of "+string(key)+" as "+i.name+" reads it", fmt.Append(nil, first),
				i.find("L8.key", key).Bytes)
		}
	}
}

func retiredNeverRead(t *harness.T) {
	i := targets(t)
	planted := map[spi.Key]spi.Value{}
	for n, key := range counter.Retired() {
		planted[key] = plant(t, key, fmt.Sprint(1000*(n+1)))
	}
	for _, key := range counters() {
		i.must("L8.retired", key, 1, 1, nil)
		i.must("L8.retired", key, 2, 2, nil)
		stores(t, "L8.retired", key, "4")
	}
	for key, before := range planted {
		unchanged(t, "L8.retired", key, before)
	}
}

// retiredFlush checks only records: a provider may tidy what it keeps beside
// them at any time.
func retiredFlush(t *harness.T) {
	i, absent := targets(t), counter.Retired()[2]
	kept := map[spi.Key]spi.Value{"beside": plant(t, "beside", "kept")}
	for _, key := range counters() {
		i.must("L8.retired", key, 4, 1, nil)
		kept[key] = stores(t, "L8.retired", key, "5")
	}
	retired := map[spi.Key]spi.Value{}
	for _, key := range counter.Retired() {
		if key != absent {
			retired[key] = plant(t, key, "7")
		}
	}
	flush, err := counter.PlanFlush(t.Context(), t.Redis(), t.KeyPrefix())
	if err != nil {
		t.Troublef("the dry run of the flush failed: %v", err)
	}
	for _, k := range flush.Keys {
		t.Checkf(k.Exists == (k.Logical != absent), "L8.retired",
			"at the Redis key %s the retired key %q is there: %t, expected %t", k.RedisKey, k.Logical, k.Exists,
			k.Logical != absent)
	}
	for key, before := range retired {
		unchanged(t, "L8.retired", key, before)
	}
	if _, err := flush.Apply(t.Context()); err != nil {
		t.Troublef("the flush failed: %v", err)
	}
	for _, key := range counter.Retired() {
		t.Location().MustMiss(key)
	}
	for key, before := range kept {
		unchanged(t, "L8.retired", key, before)
	}
	for _, key := range counters() {
		i.must("L8.retired", key, 1, 5, nil)
	}
}
