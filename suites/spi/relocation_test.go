package spi

import (
	"slices"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/result"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

// storeCases are the cases of time, of the Relocation Store and of what both
// stores have in common.
func storeCases() []harness.Case {
	return slices.Concat(expiryCases(), relocationCases(), argumentCases(), bufferCases(), lifetimeCases())
}

func TestStoreCasesPassOnTheReference(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), target.InProcess(target.Reference()), storeCases())
}

// Each sabotage of the reference is caught by the cases that are named with
// it, whatever else it breaks.
func TestStoreCasesCatchSabotages(t *testing.T) {
	env := suitetest.Env(t)
	for _, s := range sabotages {
		t.Run(strings.ReplaceAll(s.name, " ", "-"), func(t *testing.T) {
			var cases []harness.Case
			for _, c := range storeCases() {
				if slices.Contains(s.caught, strings.TrimPrefix(c.ID, "spi/")) {
					cases = append(cases, c)
				}
			}
			if len(cases) != len(s.caught) || len(cases) == 0 {
				t.Fatalf("%d of the cases %v exist", len(cases), s.caught)
			}
			want := s.verdict
			if want == "" {
				want = result.Fail
			}
			for _, c := range suitetest.Run(t, env, target.InProcess(s.provider(t)), cases).Cases {
				if c.Verdict != want {
					t.Errorf("%s: %s %s, want %s\n%s", c.ID, c.Verdict, c.Reason, want, suitetest.Show(c))
				}
			}
		})
	}
}

func TestPrivateTerm(t *testing.T) {
	for name, want := range map[string]string{
		"RedisLocationStore": "", "redis_location_store_options": "", "RedisStoreOptions.KeyPrefix": "", "Description": "", "Defence": "",
		"LayoutInflater": "", "KeySpace": "", "connectionPoolCapacity": "", "IRedisSubscription": "",
		"RelocationManifest": "manifest", "redis.ScriptRunner": "script", "REDIS_KEY_LAYOUT": "key layout", "KeyLayoutV3": "key layout",
		"IAuthorityStore": "authority", "LUAScripts": "scripts", "MemberCodec": "codec", "SpotCapacity": "capacity",
		"RelocationPhase": "relocation phase", "FencingToken": "fencing",
	} {
		if got := privateTerm(name, privateTerms); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := privateTerm("getMoveHistory", privateRelocationTerms); got != "move history" {
		t.Errorf("getMoveHistory: %q", got)
	}
}
