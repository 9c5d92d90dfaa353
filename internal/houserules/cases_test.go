package houserules

import (
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/suites"
)

// A case's title is a sentence, the same way in every suite.
func TestTitles(t *testing.T) {
	for _, c := range suites.All() {
		if !strings.HasSuffix(c.Title, ".") || strings.HasSuffix(c.Title, "..") {
			t.Errorf("%s: the title does not end with a full stop: %s", c.ID, c.Title)
		}
	}
}
