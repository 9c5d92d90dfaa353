package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// What people read is shown as it is, and what would deceive them is not.
func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"grün 鍵 🔑":         `"grün 鍵 🔑"`,
		"a\x00b\x1b[2J":    `"a\x00b\x1b[2J"`,
		"a\u202eb\u200bc":  `"a\u202eb\u200bc"`,
		"\xff\u0085\u00a0": `"\xff\u0085\u00a0"`,
	} {
		if got := quote(in); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := describeBytes([]byte(in)); got != want {
			t.Errorf("bytes: got %s, want %s", got, want)
		}
	}
}

func TestDescribeRetention(t *testing.T) {
	for r, want := range map[spi.Retention]string{3600134: "3600134 ms", 0.5: "0.5 ms", 1e300: "1e+300 ms", -1: "-1 ms"} {
		if got := describeRetention(r); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// What the bounds of the evidence leave out is counted.
func TestLeftOutEvidenceIsCounted(t *testing.T) {
	catalogue, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	c := &T{run: &runner{config: Config{Catalogue: catalogue}}, definition: Case{Requirements: []string{"L4.put"}}}
	for i := range maxFindings + 5 {
		c.Failf("L4.put", "finding %d", i)
	}
	if n := len(c.findings); n != maxFindings || c.findings[n-1].More != 5 {
		t.Errorf("%d findings, of the last: %+v", n, c.findings[n-1])
	}
	for i := range maxOperations + 5 {
		c.op(fmt.Sprintf("operation %d", i+1))
	}
	// 25 operations: the last 19 are shown, under a line that counts the others.
	if n := len(c.ops); n != maxOperations || c.ops[0] != "… 6 earlier operations not shown" || c.ops[1] != "operation 7" ||
		c.ops[n-1] != "operation 25" {
		t.Errorf("got %d:\n%s", n, strings.Join(c.ops, "\n"))
	}
}
