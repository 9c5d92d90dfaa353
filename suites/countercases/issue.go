package countercases

import (
	"strconv"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// issueCases: one value, the next ones, blocks (L8.first, L8.block).
func issueCases() []harness.Case {
	return []harness.Case{
		locationCase("issue/first", "The first value of each counter is 1, which stores 2, and each counter counts for itself.",
			"L8.first L8.key", issueFirst),
		locationCase("issue/next", "Instances that take turns go on where the other one stopped, and each value "+
			"gives the row a new version.",
			"L8.first L3.version-fresh", issueNext),
		locationCase("issue/after-delete", "A counter whose row was deleted is a missing one: it starts at 1 again.",
			"L8.first", issueAfterDelete),
		locationCase("issue/block", "A block of n values stores v+n, and the next value is that one.",
			"L8.block", issueBlock),
		locationCase("issue/digits", "Rows keep each of their digits, also beyond what a double can hold.",
			"L8.decimal L8.block", issueDigits),
	}
}

func issueFirst(t *harness.T) {
	i := targets(t)
	for n, key := range counters() {
		t.Location().MustMiss(key)
		for v := int64(1); v <= int64(n)+1; v++ {
			i.must("L8.first", key, 1, v, nil)
			stores(t, "L8.first", key, strconv.FormatInt(v+1, 10))
		}
	}
	for n, key := range counters() {
		stores(t, "L8.key", key, strconv.Itoa(n+2))
	}
}

func issueNext(t *harness.T) {
	turns := []issuer{targets(t), targets(t)}
	seen := map[spi.Version]bool{}
	const values = 12
	for v := int64(1); v <= values; v++ {
		turns[v%2].must("L8.first", counter.Object, 1, v, nil)
		seen[turns[v%2].find("L8.first", counter.Object).Version] = true
	}
	t.Checkf(len(seen) == values, "L3.version-fresh", "%d values gave the row %d versions", values, len(seen))
}

func issueAfterDelete(t *harness.T) {
	i := targets(t)
	i.must("L8.first", counter.Owner, 2, 1, nil)
	t.Location().MustDelete(counter.Owner)
	i.must("L8.first", counter.Owner, 1, 1, nil)
	stores(t, "L8.first", counter.Owner, "2")
}

func issueBlock(t *harness.T) {
	i, first := targets(t), int64(1)
	for _, n := range []int64{3, 1, 1000, 2, 1 << 40} {
		i.must("L8.block", counter.Object, n, first, nil)
		first += n
		stores(t, "L8.block", counter.Object, strconv.FormatInt(first, 10))
	}
}

// issueDigits has rows at each width and where a double rounds: 2^53+1 is the
// first integer that it can't hold, and 1e14 and 1e17 are where common
// formatters turn to exponents.
func issueDigits(t *harness.T) {
	i := targets(t)
	for _, row := range []struct {
		stored  string
		n       int64
		first   int64
		storing string
	}{
		{"9", 1, 9, "10"},
		{"99", 1, 99, "100"},
		{"4294967295", 1, 4294967295, "4294967296"},
		{"99999999999999", 1, 99999999999999, "100000000000000"},
		{"9007199254740992", 1, 9007199254740992, "9007199254740993"},
		{"9007199254740993", 2, 9007199254740993, "9007199254740995"},
		{"99999999999999999", 1, 99999999999999999, "100000000000000000"},
		{"1234567890123456789", 1, 1234567890123456789, "1234567890123456790"},
		{"9223372036854775800", 3, 9223372036854775800, "9223372036854775803"},
	} {
		plant(t, counter.AuthorityOwner, row.stored)
		i.must("L8.decimal", counter.AuthorityOwner, row.n, row.first, nil)
		stores(t, "L8.decimal", counter.AuthorityOwner, row.storing)
	}
}
