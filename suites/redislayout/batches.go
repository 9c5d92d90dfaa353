package redislayout

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/layout"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout/raw"
)

// batchCases: unconditional batches of which the last key can't be written as
// it is. Redis does not take back what a batch did before it failed.
func batchCases() []harness.Case {
	var cases []harness.Case
	for _, last := range []struct {
		slug, title string
		mutation    spi.Mutation
	}{
		{"put", "a Put", put("bad", "new")},
		{"delete", "a Delete", del("bad")},
	} {
		for _, w := range wrongTypes {
			cases = append(cases, locationCase(fmt.Sprintf("unreadable/batch-%s-%s", last.slug, w.name),
				fmt.Sprintf("A batch that ends with %s of a record whose Redis key is a %s applies whole, or "+
					"fails and changes nothing.", last.title, w.name),
				"L4.all-or-nothing L9.unknown-tag", func(t *harness.T) {
					plantType(t, w.plant, "bad")
					endsBadly(t, last.mutation)
				}))
		}
	}
	return cases
}

// endsBadly writes good keys and, last, the one of another Redis type. A
// provider may repair it, or refuse the batch.
func endsBadly(t *harness.T, last spi.Mutation) {
	const requirement = "L4.all-or-nothing"
	store := t.Location()
	old := map[spi.Key]spi.Version{"kept": store.MustPut("kept", []byte("old"), nil),
		"gone": store.MustPut("gone", []byte("old"), nil)}
	badKey := layout.RecordKey(t.KeyPrefix(), "bad")
	before := raw.On(t).Dump(badKey)
	request := write(nil, put("created", "new"), put("kept", "new"), del("gone"), last)
	r, err := store.Write(t.Context(), request)
	if err != nil {
		t.ErrorKind("L9.unknown-tag", "a batch with a Redis key of another type", err, spi.KindStoreFailure)
		for key, version := range old {
			f, ok := store.MustRead(key).(spi.Found)
			t.Checkf(ok && f.Value.Version == version, requirement, "the batch failed, and yet %q has changed", key)
		}
		_, missing := store.MustRead("created").(spi.Missing)
		t.Checkf(missing, requirement, `the batch failed, and yet "created" is there`)
		t.Checkf(raw.On(t).Dump(badKey) == before, requirement,
			"the batch failed, and yet it changed the Redis key of another type")
		return
	}
	applied, ok := r.(spi.Applied)
	if !ok {
		t.Fatalf("L9.unknown-tag", "a batch without conditions and with a Redis key of another type answered %s",
			harness.Describe(r))
	}
	versions := map[spi.Key]spi.Version{}
	for _, p := range applied.PutVersions {
		versions[p.Key] = p.Version
	}
	for _, m := range request.Mutations {
		key := m.MutationKey()
		_, put := m.(spi.Put)
		found, err := store.Read(t.Context(), key)
		f, there := found.(spi.Found)
		t.Checkf(err == nil && there == put && (!put || f.Value.Version == versions[key]), requirement,
			"the batch was applied, but %q reads as %s, %v", key, harness.Describe(found), err)
	}
}
