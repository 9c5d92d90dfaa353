package spicases

import "testing"

func TestPrivateTerms(t *testing.T) {
	for term, names := range map[string][]string{
		"authority": {"AuthorityRecord", "zlink.redis.authority_store", "IAuthorities", "AUTHORITYDTO", "getAuthority",
			"redisauthority", "AuthoritativeRecord"},
		"reservation": {"ReservationDto", "CapacityLessReservations", "RESERVATION_ID", "ReservedSlot", "slotreservations"},
		"aggregate":   {"ActorAggregate", "aggregates", "AggregatedRecord", "AGGREGATE_DTO", "Aggregator"},
		"capacity":    {"NodeCapacity", "capacities", "CAPACITYCOUNTER", "spot_capacity"},
		"fence":       {"FenceToken", "Fencing", "FENCETOKEN", "owner_fence", "FencedWrite", "writefence", "FencingToken"},
		"codec":       {"RecordCodec", "codecs", "MEMBER_CODEC", "membercodec"},
		"relocation phase": {"RelocationPhase", "RELOCATION_PHASES", "PhaseOfRelocation", "relocationphase",
			"RelocationCommitPhase"},
		"manifest": {"ManifestDto", "RelocationManifests", "MANIFESTDTO", "movemanifest"},
		"script": {"RelocationScripts", "LuaSource", "SCRIPTCACHE", "lua_script", "ScriptRunner", "writescript",
			"SubscriptionScript", "LUAScripts"},
		"key layout": {"LocationKeyLayout", "KEYLAYOUT", "key_layout", "KeysLayout", "LayoutOfKeys", "RedisLayoutV3",
			"rediskeylayout", "RecordLayout"},
	} {
		for _, name := range names {
			if got := privateTerm(name, privateTerms); got != term {
				t.Errorf("%s is taken for %q, want %q", name, got, term)
			}
		}
	}
	for _, name := range []string{
		"RedisRelocationStore.GetMoveHistory", "zlink.RelocationStore.history", "ACTOR_HISTORY", "movehistory",
		"SpotMovementHistory", "HistoryOfMoves",
	} {
		if got := privateTerm(name, privateRelocationTerms); got != "move history" {
			t.Errorf("%s is taken for %q, want the move history", name, got)
		}
	}
	for _, name := range []string{
		"RedisLocationStore", "RedisRelocationStore", "RedisLocationStoreOptions", "RedisLocationStoreOptions.ConnectionString",
		"keyPrefix", "KeyNamespace",
		"key_namespace", "OperationTimeout", "RedisRelocationStore.renew", "Description", "getDescription", "DescriptorOptions",
		"SUBSCRIPTION", "Subscription",
		"TypescriptOptions", "JavaScript", "PoolCapacity", "ConnectionPool.getCapacity", "initialCapacity",
		"CertificateAuthority", "caAuthority",
		"uri_authority", "CAPath", "LayoutInflater", "KeySpace", "IRedisSubscription", "connectionPoolCapacity", "Preservation",
		"Evaluate", "Value", "Defence", "AuthorizationToken", "OpaqueRecord", "ErrorCodeConverter", "errorcodeconverter",
		"zlink.location.redis.RedisLocationStore.Scan", "StoreNow", "ExpiresAt", "Manifestation", "PhaseTimeout", "observe",
		"preserve",
	} {
		for _, terms := range [][]term{privateTerms, privateRelocationTerms} {
			if got := privateTerm(name, terms); got != "" {
				t.Errorf("%s is taken for %q", name, got)
			}
		}
	}
}
