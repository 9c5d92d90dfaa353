package houserules

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/suites"
)

// A case's title is a sentence, the same way in every suite. Those left out are
// in files that others work on; they follow.
func TestTitles(t *testing.T) {
	later := regexp.MustCompile(`^spi/(scan|cursor|wide)/`)
	for _, c := range suites.All() {
		if !later.MatchString(c.ID) && (!strings.HasSuffix(c.Title, ".") || strings.HasSuffix(c.Title, "..")) {
			t.Errorf("%s: the title does not end with a full stop: %s", c.ID, c.Title)
		}
	}
}
