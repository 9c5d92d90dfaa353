package interop

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// recordCases: each reads what the other wrote (L9.interop-read).
func recordCases() []harness.Case {
	const requirement = "L9.interop-read"
	return slices.Concat(
		bothWays(locationCase, "read/values", "Values of all sizes, which one provider puts, read the same in the other.",
			requirement, func(t *harness.T, one, other party) {
				for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536, spi.MaxValueBytes} {
					key, value := spi.Key(fmt.Sprint("value of ", n)), t.RandomBytes(n)
					v := one.put(requirement, key, string(value), nil)
					other.same(requirement, key, spi.Value{Bytes: value, Version: v})
				}
			}),
		bothWays(locationCase, "read/keys", "Keys with any characters, which one provider puts, are the same keys in the other.",
			requirement+" L9.key", func(t *harness.T, one, other party) {
				for i, key := range oddKeys {
					v := one.put(requirement, key, fmt.Sprint(i), spi.For(hour))
					want := one.find(requirement, key).Value
					t.Checkf(want.Version == v, requirement, "%s reads another version than it issued", one.name)
					other.same(requirement, key, want)
				}
			}),
		bothWays(locationCase, "read/deleted", "What one provider deletes is Missing in the other.", requirement+" L9.tombstone",
			func(t *harness.T, one, other party) {
				other.put(requirement, "theirs", "v", nil)
				one.put(requirement, "own", "v", nil)
				other.find(requirement, "own")
				one.delete(requirement, "theirs", "own")
				for _, key := range []spi.Key{"theirs", "own"} {
					other.miss(requirement, key)
					other.put(requirement, key, "again", nil)
					t.EqualBytes(requirement, "the value that was put after the other's Delete", []byte("again"),
						one.find(requirement, key).Value.Bytes)
				}
			}),
		bothWays(locationCase, "read/expiry", "Both providers agree on the expiry that one of them set, and the record is "+
			"Missing in both from then on.", "L9.expiry-field L3.expired-missing "+requirement,
			func(t *harness.T, one, other party) {
				one.put(requirement, "far", "v", spi.For(hour))
				other.same("L9.expiry-field", "far", one.find(requirement, "far").Value)
				a := one.apply(requirement, write(nil, putFor("k", "v", 150)))
				at := a.StoreNow + 150
				for _, p := range []party{one, other} {
					t.Await("L3.expired-missing", "the expiry that "+one.name+" set, as "+p.name+" sees it,", 10*time.Second,
						func() bool {
							switch r := p.read("L3.expired-missing", "k").(type) {
							case spi.Found:
								t.Checkf(r.Value.ExpiresAt == at, "L9.expiry-field", "%s reads the expiry %d, expected %d",
									p.name,
									r.Value.ExpiresAt, at)
								return !t.Checkf(r.StoreNow < at, "L3.expired-missing",
									"%s found the record at %d, expired at %d",
									p.name, r.StoreNow, at)
							case spi.Missing:
								t.Checkf(r.StoreNow >= at, "L3.expired-missing",
									"%s misses the record at %d, before its expiry %d",
									p.name, r.StoreNow, at)
							}
							return true
						})
				}
				other.apply(requirement, write(given(ifMissing("k")), put("k", "new")))
				t.EqualBytes(requirement, "the value that was put after the expiry", []byte("new"),
					one.find(requirement, "k").Value.Bytes)
			}),
		bothWays(locationCase, "read/overwritten-retention",
			"A durable Put of one provider ends the retention that the other had set, and the other way round.",
			requirement+" L9.expiry-field", func(t *harness.T, one, other party) {
				one.put(requirement, "k", "v", spi.For(hour))
				v := other.put(requirement, "k", "durable", nil)
				one.same(requirement, "k", spi.Value{Bytes: []byte("durable"), Version: v})
				one.put(requirement, "k", "brief", spi.For(hour))
				other.same(requirement, "k", one.find(requirement, "k").Value)
			}),
	)
}

var oddKeys = []spi.Key{
	"k", "K", " k ", "a\x00b", "{braces}", "a}b{c", "*?[a-z]", `back\slash`, "a:b:c", "ключ", "é", "e\u0301",
	spi.Key(strings.Repeat("k", spi.MaxKeyBytes)), "zlink:v11:owner-counter",
}

// conditionCases: versions and absence hold across providers (L9.interop-read).
func conditionCases() []harness.Case {
	const requirement = "L9.interop-read"
	return slices.Concat(
		bothWays(locationCase, "condition/version",
			"A version that one provider issued is a condition in the other, which is false once it is stale.",
			requirement+" L4.version", func(t *harness.T, one, other party) {
				v := one.put(requirement, "k", "1", nil)
				next := other.apply(requirement, write(given(ifVersion("k", v)), put("k", "2"))).PutVersions[0].Version
				one.conflict(requirement, write(given(ifVersion("k", v)), put("k", "never")))
				one.apply(requirement, write(given(ifVersion("k", next)), put("k", "3")))
				other.conflict(requirement, write(given(ifVersion("k", next)), put("k", "never")))
				t.EqualBytes(requirement, "the value after all", []byte("3"), other.find(requirement, "k").Value.Bytes)
			}),
		bothWays(locationCase, "condition/missing",
			"A Missing condition of one provider sees what the other put, deleted and let expire.", requirement+" L4.missing",
			func(t *harness.T, one, other party) {
				one.apply(requirement, write(given(ifMissing("k")), put("k", "1")))
				other.conflict(requirement, write(given(ifMissing("k")), put("k", "never")))
				one.delete(requirement, "k")
				v := other.apply(requirement, write(given(ifMissing("k")), put("k", "2"))).PutVersions[0].Version
				one.conflict(requirement, write(given(ifMissing("k")), put("k", "never")))
				one.apply(requirement, write(given(ifVersion("k", v)), del("k")))
				other.conflict(requirement, write(given(ifVersion("k", v)), put("k", "never")))
				other.apply(requirement, write(given(ifMissing("k")), put("k", "3")))
			}),
		bothWays(locationCase, "batch/both-keys", "A batch of one provider conditions and changes records of both in one commit.",
			requirement+" L4.all-or-nothing", func(t *harness.T, one, other party) {
				a, b := one.put(requirement, "a", "a", nil), other.put(requirement, "b", "b", nil)
				applied := one.apply(requirement, write(given(ifVersion("a", a), ifVersion("b", b), ifMissing("c")),
					put("a", "a2"), put("b", "b2"), put("c", "c2")))
				for _, p := range applied.PutVersions {
					other.same(requirement, p.Key, spi.Value{Bytes: []byte(string(p.Key) + "2"), Version: p.Version})
				}
				other.apply(requirement, write(nil, del("a"), del("b"), put("c", "c3")))
				one.miss(requirement, "a")
				one.miss(requirement, "b")
			}),
		bothWays(locationCase, "batch/conflict",
			"A stale version of the other's record turns a whole batch into a Conflict that neither provider sees any part of.",
			"L4.all-or-nothing "+requirement, func(t *harness.T, one, other party) {
				stale := other.put(requirement, "theirs", "1", nil)
				theirs := other.put(requirement, "theirs", "2", nil)
				own := one.put(requirement, "own", "1", nil)
				one.conflict("L4.all-or-nothing", write(given(ifVersion("own", own), ifVersion("theirs", stale)),
					put("own", "never"), del("theirs"), put("new", "never")))
				for _, p := range []party{one, other} {
					p.same("L4.all-or-nothing", "own", spi.Value{Bytes: []byte("1"), Version: own})
					p.same("L4.all-or-nothing", "theirs", spi.Value{Bytes: []byte("2"), Version: theirs})
					p.miss("L4.all-or-nothing", "new")
				}
			}),
	)
}
