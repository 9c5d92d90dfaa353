package countercases

import (
	"errors"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
)

// corruptCases: rows that are no counter come back as they are, so that the
// framework refuses them (L8.decimal). A store that trims, parses or tidies
// numbers would let them pass.
func corruptCases() []harness.Case {
	return []harness.Case{
		locationCase("corrupt/refused", "A row that is no canonical decimal from 1 to 2^63-1 is refused as "+
			"corrupt, and nothing changes.",
			"L8.decimal", corruptRefused),
	}
}

var corruptRows = []string{
	"", "0", "00", "-1", "+1", "01", " 1", "1 ", "1\n", "1\x00", "1.0", "1e3", "0x1", "1_000", `"1"`, "١",
	"9223372036854775808", "-9223372036854775808", "18446744073709551615", "18446744073709551617", "\x01",
}

func corruptRefused(t *harness.T) {
	i := targets(t)
	for n, row := range corruptRows {
		key := counters()[n%3]
		before := plant(t, key, row)
		_, err := i.issue(key, 1, recordGate("record"))
		var corrupt *counter.Corrupt
		if t.Checkf(errors.As(err, &corrupt), "L8.decimal",
			"issuing over the row %q answered %v, expected a refusal of a corrupt row", row, err) {
			t.EqualBytes("L8.decimal", "the corrupt row, as it was read,", []byte(row), corrupt.Bytes)
		}
		unchanged(t, "L8.decimal", key, before)
	}
	t.Location().MustMiss("record")
}
