package mutants

import (
	"context"
	"net/url"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// inputMutants mistake options and references for others.
func inputMutants() []Mutant {
	utf8 := func(id, title, by string) Mutant {
		m := references(id, title, plain(func(ref string) string { return strings.ToValidUTF8(ref, by) }))
		m.Requirements = requirements("R3.reference-utf8")
		return m
	}
	credentials := func(id, title string, change func(*redisenv.ConnInfo)) Mutant {
		m := connected(id, title, change)
		m.Requirements = requirements("L10.credentials")
		return m
	}
	return []Mutant{
		utf8("blob/invalid-utf8-replaced", "Bytes of a reference that are no UTF-8 become U+FFFD.", "\uFFFD"),
		utf8("blob/invalid-utf8-question-mark", "Bytes of a reference that are no UTF-8 become a question mark.", "?"),
		utf8("blob/invalid-utf8-dropped", "Bytes of a reference that are no UTF-8 are dropped.", ""),
		onRelocation("blob/invalid-utf8-deletes", "R3.reference-utf8",
			"Bytes of a reference to delete that are no UTF-8 become U+FFFD.",
			func(r *relocation) {
				r.delete = func(ctx context.Context, ref spi.Reference) error {
					return r.RelocationStore.Delete(ctx, spi.Reference(strings.ToValidUTF8(string(ref), "\uFFFD")))
				}
			}),
		onRelocation("blob/invalid-utf8-renews", "R3.reference-utf8",
			"Bytes of a reference to renew that are no UTF-8 become U+FFFD.",
			func(r *relocation) {
				r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
					return r.RelocationStore.Renew(ctx, spi.Reference(strings.ToValidUTF8(string(ref), "\uFFFD")), ms)
				}
			}),
		credentials("stores/password-in-a-url", "The password is taken from a URL in which it was not escaped.",
			func(c *redisenv.ConnInfo) {
				c.Password = misread(c.Password)
			}),
		credentials("stores/user-in-a-url", "The user is taken from a URL in which it was not escaped.",
			func(c *redisenv.ConnInfo) {
				c.Username = misread(c.Username)
			}),
		provided("prefix/braces-fail-the-store", "L9.prefix-kind", "A key prefix with a brace is refused as a store failure.",
			bracesFail),
		provided("prefix/blob-braces-fail-the-store", "R8.prefix-kind",
			"A key prefix with a brace is refused as a store failure.", bracesFail),
	}
}

// misread is a part of a URL as one reads it who expects it to be escaped.
func misread(s string) string {
	s, _, _ = strings.Cut(s, ":")
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

func bracesFail() targets.Provider {
	p := refprovider.New()
	openLocation, openRelocation := p.OpenLocation, p.OpenRelocation
	p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
		if strings.ContainsAny(c.KeyPrefix, "{}") {
			return nil, failure("a bad key prefix")
		}
		return openLocation(ctx, c)
	}
	p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
		if strings.ContainsAny(c.KeyPrefix, "{}") {
			return nil, failure("a bad key prefix")
		}
		return openRelocation(ctx, c)
	}
	return p
}
