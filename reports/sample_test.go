package reports

import (
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/result"
)

// hostile is text as an ill-meaning target might write it: a terminal escape
// sequence that clears the screen, a forged last line, a NUL, a C1 control
// (CSI in one character), a right-to-left override, invalid UTF-8, a
// non-character, the end of a CDATA section, markup and Markdown.
const hostile = "\x1b[2J\x1b[31mred\nCONFORMS  99 cases: 99 pass\r\x00\u009b1m\u202eabc\xff\ufffe]]></failure><script>alert(1)</script> ``` | @all"

// sample has every verdict, two environments and a hostile target.
func sample() result.Run {
	const local, container = "local redis-server 7.0.15", "container redis:8.2"
	pass := func(id, suite, env string) result.Case {
		return result.Case{ID: id, Suite: suite, Title: "title of " + id, Requirements: []string{"L2.observation"},
			Environment: env, Verdict: result.Pass, Duration: 1200 * time.Microsecond}
	}
	return result.Run{
		Tool: "1.2.3",
		Target: result.Target{Command: "node adapter.js", Provider: "acme-store", Language: "JavaScript", Version: "0.9",
			Layout: "official", Capabilities: []string{"cancellation", "counter"}},
		Environments: []result.Environment{{Name: local, Version: "7.0.15"}, {Name: container, Version: "8.2.0"}},
		Seed:         42, Parallel: 8, Deselected: 7,
		Started:  time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Duration: 2345 * time.Millisecond,
		Cases: []result.Case{
			pass("spi/read/exact", "spi/read", local),
			{ID: "spi/batch/last-condition-false", Suite: "spi/batch", Title: "one false condition, the last of 2,048, stops the batch",
				Requirements: []string{"L4.all-or-nothing", "L4.conflict-silent"}, Environment: local, Verdict: result.Fail,
				Duration: 30 * time.Millisecond,
				Findings: []result.Finding{
					{Requirement: "L4.all-or-nothing", Level: "MUST", Sentence: "Every condition is checked before any mutation.",
						Source: "Location Store, Conditional atomic batch", What: "a key was written although the batch conflicted",
						Diff: "  spi.ReadResult(\n- \tspi.Missing{},\n+ \tspi.Found{Value: \"x\"},\n  )\n"},
					{Requirement: "L4.conflict-silent", Level: "MUST", Sentence: "Conflict carries StoreNow alone.",
						Source: "Location Store, Conditional atomic batch", What: "the answer said " + hostile},
				},
				Evidence: result.Evidence{
					Operations: []string{"write {conditions: 2048} -> conflict", "read \"k\" -> found " + hostile},
					Redis:      []string{"{p}:{zlink-location-v3}:opaque:ab ZSET 1 member"},
					Log:        []string{"warning: slow", hostile},
					Notes:      []string{"seeded 2,048 keys"},
				},
				Repeat: "zlink-conformance run --target 'node adapter.js' --run spi/batch/last-condition-false --seed 42"},
			{ID: "spi/scan/page-bytes", Suite: "spi/scan", Title: "pages stay small", Requirements: []string{"L5.page-bytes"},
				Environment: local, Verdict: result.Advisory, Duration: time.Millisecond,
				Findings: []result.Finding{{Requirement: "L5.page-bytes", Level: "SHOULD", Sentence: "A page stays small.",
					Source: "Location Store, Snapshot scan", What: "a page of 5 MiB"}}},
			{ID: "counter/issue", Suite: "counter", Title: "issues a generation", Requirements: []string{"C1"}, Environment: local,
				Verdict: result.Skipped, Reason: "the target has no capability counter"},
			{ID: "counter/reissue", Suite: "counter", Title: "issues again", Requirements: []string{"C2"}, Environment: local,
				Verdict: result.Skipped, Reason: "the target has no capability counter"},
			{ID: "spi/read/known", Suite: "spi/read", Title: "known trouble", Requirements: []string{"L2.observation"}, Environment: local,
				Verdict: result.KnownFailure, Reason: "listed in known.txt: issue 12",
				Findings: []result.Finding{{Requirement: "L2.observation", Level: "MUST", Sentence: "One observation.", Source: "Location Store, Read", What: "old version"}}},
			{ID: "spi/read/stale", Suite: "spi/read", Title: "stale entry", Requirements: []string{"L2.observation"}, Environment: local,
				Verdict: result.UnexpectedPass, Reason: "known.txt line 3 says that it fails"},
			{ID: "spi/read/flaky", Suite: "spi/read", Title: "flaky", Requirements: []string{"L2.observation"}, Environment: local,
				Verdict: result.Flaky, Findings: []result.Finding{{Requirement: "L2.observation", Level: "MUST", Sentence: "One observation.",
					Source: "Location Store, Read", What: "failed, and passed when repeated"}}},
			{ID: "spi/read/died", Suite: "spi/read", Title: "target dies", Requirements: []string{"L2.observation"}, Environment: local,
				Verdict: result.Error, Reason: "the target exited with status 3", Evidence: result.Evidence{Log: []string{"panic: " + hostile}}},
			pass("spi/read/exact", "spi/read", container),
		},
	}
}

// only is a run of cases with the given verdicts.
func only(verdicts ...result.Verdict) result.Run {
	run := result.Run{Tool: "1.2.3", Environments: []result.Environment{{Name: "r", Version: "8"}}}
	for _, v := range verdicts {
		run.Cases = append(run.Cases, result.Case{ID: "a/b", Suite: "a", Environment: "r", Verdict: v, Reason: "why"})
	}
	return run
}
