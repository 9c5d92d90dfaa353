package mutants

import (
	"crypto/rand"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
)

// everywhere edits every script that holds old.
func everywhere(old, new string) edit { return edit{"", old, new} }

const (
	smallest = "call('ZRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2],"
	greatest = "call('ZREVRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2]\nend"
	due      = "local record = call('HGET', map, key)\n  local found"
	outlived = "member.expires + SNAPSHOT_MS > now"
	waits    = "text(expires + SNAPSHOT_MS)"
)

// cleanUpMutants reclaim what an open scan or a reader still needs.
func cleanUpMutants() []Mutant {
	return []Mutant{
		script("cleanup/newest-scan-alone", "L5.snapshot", "Of several open scans the newest alone pins history.",
			everywhere(smallest, "call('ZREVRANGE', snapshot_boundary, 0, 0, 'WITHSCORES')[2],")),
		script("cleanup/newest-scan-alone-later", "L5.snapshot", "Clean-up a second later looks only at the newest of several open scans.",
			onWrite("tidy(now, low, high)\nreturn reply", "tidy(now, high, high) return reply"),
			onScan("tidy(now, boundaries())", "local _, high = boundaries() tidy(now, high, high)")),
		script("cleanup/oldest-scan-forgotten", "L5.snapshot", "Of four open scans the oldest pins nothing.",
			everywhere(smallest, `
    call('ZRANGE', snapshot_boundary, call('ZCARD', snapshot_boundary) > 3 and 1 or 0, -1, 'WITHSCORES')[2],`)),
		script("cleanup/middle-scan-forgotten", "L5.snapshot", "What lies between the oldest and the newest open scan is trimmed.",
			everywhere("call('ZREMRANGEBYSCORE', record, '(' .. high, '(' .. score)",
				"call('ZREMRANGEBYSCORE', record, '(' .. low, '(' .. score)")),
		script("cleanup/drops-expired-at-once", "L5.snapshot", "A record that expired during a scan is removed although the scan shows it.",
			everywhere(outlived, "member.expires > now"), everywhere(waits, "text(expires)")),
		script("cleanup/drops-expired-early", "L5.snapshot", "A record is removed two seconds after its expiry although an open scan shows it.",
			everywhere(outlived, "member.expires + 2000 > now"), everywhere(waits, "text(expires + 2000)")),
		script("cleanup/drops-expired-after-twenty", "L5.snapshot", "A record is removed twenty seconds after its expiry although an open scan shows it.",
			everywhere(outlived, "member.expires + 20000 > now"), everywhere(waits, "text(expires + 20000)")),
		processes("cleanup/pins-of-a-process", "L5.snapshot", "What pins history is known in the process of the scan alone.",
			func() targets.Provider { return pinnedBy(rand.Text()) }),
	}
}

// processes is a mutant of which each process has a state of its own.
func processes(id, requirement, title string, process func() targets.Provider) Mutant {
	return provided(id, requirement, title, process)
}

// pinnedBy keeps the open scans of one process apart from those of others.
func pinnedBy(process string) targets.Provider {
	return edited([]edit{everywhere("snapshot_boundary = ns .. 'snapshot-expiry'", "snapshot_boundary = ns .. '"+process+"-expiry'"),
		everywhere("ns .. 'snapshot-boundary'", "ns .. '"+process+"-boundary'")})
}
