package redislayout

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// prefixCases: key prefixes separate, and hold any characters but braces
// (L9.prefix, R8.prefix).
func prefixCases() []harness.Case {
	return []harness.Case{
		locationCase("prefix/location-braces", "A key prefix with a brace is refused, and as an argument error, when a "+
			"location store is opened or first used.", "L9.prefix L9.prefix-kind", func(t *harness.T) {
			refusesBraces(t, "L9.prefix", func(prefix string) error {
				store, err := t.Target().TryOpenLocation(harness.Store{KeyPrefix: prefix})
				if err == nil {
					_, err = store.Read(t.Context(), "k")
				}
				return err
			})
		}),
		relocationCase("prefix/relocation-braces",
			"A key prefix with a brace is refused, and as an argument error, when a relocation store is opened or first used.",
			"R8.prefix R8.prefix-kind", func(t *harness.T) {
				refusesBraces(t, "R8.prefix", func(prefix string) error {
					store, err := t.Target().TryOpenRelocation(harness.Store{KeyPrefix: prefix})
					if err == nil {
						_, err = store.Read(t.Context(), "r")
					}
					return err
				})
			}),
		locationCase("prefix/location-characters",
			"Glob characters, spaces, colons, quotes and non-ASCII text in a key prefix stand in the Redis keys as they are.",
			"L9.prefix L9.key", prefixCharacters),
		relocationCase("prefix/relocation-characters",
			"The same characters in the key prefix of a relocation store stand in its Redis keys as they are.",
			"R8.prefix R8.key", blobPrefixCharacters),
		locationCase("prefix/location-apart", "Stores of different key prefixes never see or change each other's records, "+
			"also if one prefix begins the other.", "L9.prefix", prefixesApart),
		relocationCase("prefix/relocation-apart",
			"Relocation stores of different key prefixes never see or change each other's payloads.", "R8.prefix",
			blobPrefixesApart),
	}
}

// refusesBraces checks that a bad prefix is refused, and apart from it in which
// way: who gets any error can do no harm with the prefix.
func refusesBraces(t *harness.T, requirement string, use func(prefix string) error) {
	for _, name := range []string{"{x}", "a{", "a}", "}{", layout.LocationTag} {
		what := fmt.Sprintf("a key prefix that ends in %q", name)
		err := use(t.NewKeyPrefix(name))
		if t.Checkf(err != nil, requirement, "%s was accepted, expected an error", what) {
			t.ErrorKind(requirement+"-kind", what, err, spi.KindArgument)
		}
	}
}

var oddPrefixes = []string{"*", "?", "[a-z]", "[^x]", `back\slash`, "a b", "a:b", "a::", `"'`, "%s%d", "ü漢字", "\t"}

func prefixCharacters(t *harness.T) {
	for _, name := range oddPrefixes {
		prefix := t.NewKeyPrefix(name)
		store := t.Target().OpenLocation(harness.Store{KeyPrefix: prefix})
		version := store.MustPut("k", []byte(name), nil)
		e := raw.At(t, t.Redis(), prefix).Current("k")
		t.EqualBytes("L9.key", fmt.Sprintf("the value in the record under the prefix %q", name), []byte(name), e.Member.Value)
		want := []spi.Item{{Key: "k", Value: spi.Value{Bytes: []byte(name), Version: version}}}
		t.Equal("L9.prefix", fmt.Sprintf("a scan under the prefix %q", name), want, store.MustScan("", 10))
	}
	for _, name := range oddPrefixes { // after all others: none has matched another
		store := t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix(name)})
		t.EqualBytes("L9.prefix", fmt.Sprintf("the record under the prefix %q", name), []byte(name),
			store.MustFind("k").Value.Bytes)
		store.MustDelete("k")
		store.MustMiss("k")
	}
}

func blobPrefixCharacters(t *harness.T) {
	for _, name := range oddPrefixes {
		prefix := t.NewKeyPrefix(name)
		store := t.Target().OpenRelocation(harness.Store{KeyPrefix: prefix})
		store.MustStore("r", []byte(name), hour)
		t.Checkf(raw.On(t).Type(layout.BlobKey(prefix, "r")) == "string", "R8.key",
			"no string at the Redis key of a payload under the prefix %q", name)
	}
	for _, name := range oddPrefixes {
		store := t.Target().OpenRelocation(harness.Store{KeyPrefix: t.NewKeyPrefix(name)})
		t.EqualBytes("R8.prefix", fmt.Sprintf("the payload under the prefix %q", name), []byte(name), store.MustFind("r").Bytes)
		store.MustDelete("r")
		store.MustMiss("r")
	}
}

// nested are prefixes of which one begins or, as a pattern, matches others.
var nested = []string{"a", "ab", "a:b", "a:b:opaque", "a*", "A"}

func prefixesApart(t *harness.T) {
	stores := map[string]*harness.Location{}
	for _, name := range nested {
		stores[name] = t.Target().OpenLocation(harness.Store{KeyPrefix: t.NewKeyPrefix(name)})
		stores[name].MustMiss("k")
		stores[name].MustApply(gated(ifMissing("k"), "k"))
		stores[name].MustPut("k", []byte(name), nil)
		stores[name].MustPut(spi.Key("only "+name), nil, nil)
	}
	stores["ab"].MustDelete("k", "only ab")
	for _, name := range nested {
		items := sorted(stores[name].MustScan("", 10))
		if name == "ab" {
			t.Checkf(len(items) == 0, "L9.prefix", "a scan under the prefix ab, in which all was deleted, shows %d records",
				len(items))
			continue
		}
		t.EqualBytes("L9.prefix", fmt.Sprintf("the record under the prefix %q", name), []byte(name),
			stores[name].MustFind("k").Value.Bytes)
		if t.Checkf(len(items) == 2, "L9.prefix", "a scan under the prefix %q shows %d records, expected 2", name, len(items)) {
			t.Checkf(items[1].Key == spi.Key("only "+name), "L9.prefix", "a scan under the prefix %q shows %q", name,
				items[1].Key)
		}
	}
}

func blobPrefixesApart(t *harness.T) {
	stores := map[string]*harness.Relocation{}
	for _, name := range nested {
		stores[name] = t.Target().OpenRelocation(harness.Store{KeyPrefix: t.NewKeyPrefix(name)})
		stores[name].MustMiss("r")
		stores[name].MustStore("r", []byte(name), hour)
	}
	stores["a"].MustDelete("r")
	for _, name := range nested[1:] {
		t.EqualBytes("R8.prefix", fmt.Sprintf("the payload under the prefix %q", name), []byte(name),
			stores[name].MustFind("r").Bytes)
	}
}
