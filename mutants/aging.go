package mutants

import "slices"

// agingMutants go wrong with what is old, or comes late: history of open scans,
// rows that can't be read, payloads at their end.
func agingMutants() []Mutant {
	return slices.Concat([]Mutant{
		script("aging/three-open-scans", "L5.snapshot", "A fourth scan makes the first one Expired.",
			onScan("call('ZADD', snapshot_boundary, boundary, id)",
				"call('ZADD', snapshot_boundary, boundary, id) for _, old in ipairs(call('ZREVRANGE', snapshot_expiry, 2, -1)) do call('ZREM', snapshot_boundary, old) call('ZREM', snapshot_expiry, old) end")),
	})
}
