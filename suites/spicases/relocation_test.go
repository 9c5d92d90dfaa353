package spicases

import (
	"slices"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// storeCases are the cases of time, of the Relocation Store and of what both
// stores have in common.
func storeCases() []harness.Case {
	return slices.Concat(expiryCases(), relocationCases(), argumentCases(), bufferCases(), lifetimeCases())
}

func TestStoreCasesPassOnTheReference(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), targets.InProcess(targets.Reference()), storeCases())
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
