package harness

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// A password shorter than this is in any text by chance.
const minSecret = 4

// maskSecret replaces the password of Redis in all that a case shows: targets
// log the URL that they connect to, and clients quote it in their errors.
func maskSecret(c *result.Case, password string) {
	if len(password) < minSecret {
		return
	}
	quoted := strconv.Quote(password)
	userinfo := url.UserPassword("", password).String()[1:]
	var pairs []string
	for _, form := range []string{password, quoted[1 : len(quoted)-1], userinfo, url.QueryEscape(password),
		url.PathEscape(password)} {
		pairs = append(pairs, form, "xxxxx")
	}
	mask := strings.NewReplacer(pairs...).Replace
	c.Reason = mask(c.Reason)
	for i := range c.Findings {
		f := &c.Findings[i]
		f.What, f.Diff = mask(f.What), mask(f.Diff)
	}
	e := &c.Evidence
	for _, lines := range [][]string{e.Operations, e.Redis, e.Log, e.Notes} {
		for i := range lines {
			lines[i] = mask(lines[i])
		}
	}
}
