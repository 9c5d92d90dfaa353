package redislayout

import (
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/kit"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// keyCases: names of Redis keys (L9.key, L9.slot, R8.apart).
func keyCases() []harness.Case {
	return []harness.Case{
		locationCase("keys/record", "A record stands at the SHA-256 of its logical key, whatever characters that holds.",
			"L9.key L9.member", recordKeys),
		locationCase("keys/one-slot", "After a busy life every Redis key of the store carries the hash tag zlink-location-v3.",
			"L9.slot", oneSlot),
		relocationCase("keys/blob-slot", "After a busy life every Redis key of the relocation store carries the hash "+
			"tag zlink-relocation-v1.", "R8.slot", blobSlot),
		bothCase("keys/stores-apart", "Both stores on one prefix, with the same names in both, share no Redis key.",
			"R8.apart L10.two-stores", storesApart),
		kit.Slow(bothCase("keys/cluster", "Both stores keep their contract on a server in cluster mode, which refuses "+
			"commands over two slots.", "L9.slot R8.slot", onCluster)),
	}
}

var oddKeys = []spi.Key{
	"k", "K", " k", "k ", "a\x00b", "{braces}", "a}b{c", "*?[a-z]", `back\slash`, "a:b:c", "a\nb", "ключ", "é", "e\u0301",
	spi.Key(strings.Repeat("k", spi.MaxKeyBytes)), "zlink:v11:owner-counter", "mesh-node\x00main\x0001020304",
}

func recordKeys(t *harness.T) {
	store, keys := t.Location(), raw.On(t)
	for i, key := range oddKeys {
		value := fmt.Appendf(nil, "value %d", i)
		store.MustPut(key, value, nil)
		e := keys.Current(key)
		t.EqualBytes("L9.key", fmt.Sprintf("the value in the record of %.60q", key), value, e.Member.Value)
		t.Checkf(e.Member.Key == string(key), "L9.member", "the record of %.60q names the key %.60q", key, e.Member.Key)
	}
	for i, key := range oddKeys { // no two of them share a record
		t.EqualBytes("L9.key", fmt.Sprintf("the value in the record of %.60q after all others were put", key),
			fmt.Appendf(nil, "value %d", i), keys.Current(key).Member.Value)
	}
}

// busyLocation lets a store do all that it can, some of it with an open scan.
func busyLocation(store *harness.Location) {
	for i := range 12 {
		store.MustPut(spi.Key(fmt.Sprintf("{k%d}", i)), []byte{byte(i)}, nil)
	}
	store.MustPut("brief", []byte("v"), spi.For(hour))
	first := store.MustPage(spi.ScanRequest{Limit: 3})
	v := store.MustPut("{k0}", []byte("new"), nil)
	store.MustApply(write(given(ifVersion("{k0}", v), ifMissing("absent")), put("{k0}", "newer"), del("{k1}"),
		spi.Put{Key: "other", Bytes: nil}))
	store.MustConflict(gated(ifMissing("{k0}"), "never"))
	store.MustFinish("", 3, first)
	store.MustDelete("{k2}", "never-there")
	store.MustScan("{k", 1000)
	store.MustMiss("{k1}")
	store.MustFind("{k0}")
}

func busyRelocation(store *harness.Relocation) {
	for _, ref := range []spi.Reference{"r", "{k0}", "b", "{}"} {
		store.MustStore(ref, []byte("payload"), hour)
		store.MustPut(ref, []byte("payload"), hour)
		store.MustPut(ref, []byte("other"), hour)
		store.MustRenew(ref, 2*hour)
		store.MustFind(ref)
	}
	store.MustDelete("b")
}

func checkTags(t *harness.T, requirement string, keys []string, tags ...string) {
	t.Checkf(len(keys) > 0, requirement, "no Redis key stands under the prefix, so what was stored is elsewhere")
	for _, key := range keys {
		known := false
		for _, tag := range tags {
			known = known || raw.HashTag(key) == strings.Trim(tag, "{}")
		}
		t.Checkf(known, requirement, "the Redis key %q is hashed by %q, expected %s", key, raw.HashTag(key),
			strings.Join(tags, " or "))
	}
}

func oneSlot(t *harness.T) {
	busyLocation(t.Location())
	checkTags(t, "L9.slot", raw.On(t).All(), layout.LocationTag)
}

func blobSlot(t *harness.T) {
	busyRelocation(t.Relocation())
	checkTags(t, "R8.slot", raw.On(t).All(), layout.RelocationTag)
}

func storesApart(t *harness.T) {
	busyLocation(t.Location())
	busyRelocation(t.Relocation())
	checkTags(t, "R8.apart", raw.On(t).All(), layout.LocationTag, layout.RelocationTag)
	t.EqualBytes("R8.apart", "the record {k0} beside a payload {k0}", []byte("newer"), t.Location().MustFind("{k0}").Value.Bytes)
	t.Relocation().MustDelete("{k0}")
	t.EqualBytes("R8.apart", "the record {k0} after the payload {k0} was deleted", []byte("newer"),
		t.Location().MustFind("{k0}").Value.Bytes)
	t.Location().MustPut("r", []byte("record"), nil)
	t.Location().MustDelete("r")
	t.EqualBytes("R8.apart", "the payload r after the record r was deleted", []byte("payload"),
		t.Relocation().MustFind("r").Bytes)
	t.Checkf(raw.On(t).Type(layout.BlobKey(t.KeyPrefix(), "r")) == "string", "R8.apart",
		"the payload r is no string among the keys of the Relocation Store; the keys under the prefix are %.400q",
		raw.On(t).All())
}

// onCluster has the server for itself, so that a key outside the prefix shows
// as well.
func onCluster(t *harness.T) {
	server := t.Server(redisenv.ServerOptions{Cluster: true})
	client := t.Client(server)
	records := t.Target().OpenLocation(harness.Store{Server: server})
	busyLocation(records)
	payloads := t.Target().OpenRelocation(harness.Store{Server: server}).Citing("R8.slot")
	busyRelocation(payloads)
	checkTags(t, "L9.slot", raw.At(t, client, t.KeyPrefix()).Server(), layout.LocationTag, layout.RelocationTag)
	t.EqualBytes("L9.slot", "the record {k0}", []byte("newer"), records.MustFind("{k0}").Value.Bytes)
	t.EqualBytes("R8.slot", "the payload {k0}", []byte("payload"), payloads.MustFind("{k0}").Bytes)
}

// checkBlob checks the payload's Redis key and its raw bytes (R8.key, R8.string).
func checkBlob(t *harness.T, c *redis.Client, ref spi.Reference, payload []byte) {
	t.EqualBytes("R8.string", fmt.Sprintf("the string of %.60q", ref), payload, raw.At(t, c, t.KeyPrefix()).Blob(ref))
}
