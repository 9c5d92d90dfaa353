package mutants

// surfaceMutants declare in public what the documents forbid, in spellings of
// many languages (L10.surface, R9.surface).
func surfaceMutants() []Mutant {
	var mutants []Mutant
	for _, row := range []struct{ slug, requirement, name string }{
		{"authority-joined", "L10.surface", "REDISAUTHORITY"},
		{"reservation-suffix", "L10.surface", "zlink::redis::slot_reservations_t"},
		{"aggregate-verb", "L10.surface", "RedisLocationStore.AggregatedRecords"},
		{"capacity-joined", "L10.surface", "CAPACITYCOUNTER"},
		{"fence-token", "L10.surface", "FENCETOKEN"},
		{"codec-joined", "L10.surface", "membercodec"},
		{"phase-turned-round", "R9.surface", "PhaseOfRelocation"},
		{"manifest-dto", "R9.surface", "MANIFESTDTO"},
		{"script-joined", "R9.surface", "luascripts"},
		{"layout-turned-round", "R9.surface", "LayoutOfKeys"},
		{"history-alone", "R9.surface", "zlink.RelocationStore.histories"},
	} {
		mutants = append(mutants, provided("surface/"+row.slug, row.requirement, "The public declarations hold "+row.name+".",
			public(row.name)))
	}
	return mutants
}
