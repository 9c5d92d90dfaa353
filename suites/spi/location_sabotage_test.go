package spi

import (
	"context"
	"strings"
	"testing"

	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

// locationSabotage makes the reference wrong in one way, by edits of its
// scripts, and names the case that must notice and the requirement that it
// must cite.
var locationSabotage = []struct {
	name            string
	edits           []suitetest.Edit
	id, requirement string
}{
	{"no condition is checked", onWrite("if not holds then", "if false then"), "conditions/missing-fails", "L4.missing"},
	{"the last condition is not checked", append(onWrite("for _ = 1, conditions do", "for c = 1, conditions do"),
		onWrite("if not holds then", "if not holds and (c < conditions or c == 1) then")...), "atomicity/false-last-of-2048", "L4.all-or-nothing"},
	{"Version holds for absent keys", onWrite("holds = exists and current.version == expected", "holds = not exists or current.version == expected"), "conditions/version-fails", "L4.version"},
	{"Version compares numbers", onWrite("current.version == expected", "tonumber(current.version) == tonumber(expected)"), "conditions/version-exact", "L4.version"},
	{"an empty value is missing", onWrite("local exists = current and live(current, now)", "local exists = current and live(current, now) and current.size > 0"), "values/value-empty", "L3.value-size"},
	{"a conflict deletes the record", onWrite("if not holds then", "if not holds then call('DEL', record)"), "atomicity/false-first-of-2048", "L4.all-or-nothing"},
	{"versions come again", append(append(onWrite("local version = text(score)", "local version = text(score % 7 + 1)"),
		onWrite("call('ZADD', record, version, member)", "call('ZADD', record, text(score), member)")...),
		onWrite("trim(record, version, low, high)", "trim(record, text(score), low, high)")...), "values/version-fresh", "L3.version-fresh"},
	{"one version for all keys", onWrite("reply[#reply + 1] = version", "reply[#reply + 1] = reply[3] or version"), "mutations/applied", "L4.applied"},
	{"a Delete leaves an empty value", onWrite("expires, not put}", "expires, false}"), "mutations/delete", "L4.delete"},
	{"the same bytes are not put again", onWrite("if put or call('EXISTS', record) == 1 then",
		"local old = call('ZREVRANGE', record, 0, 0)[1] local same = old and parse(old, key) if same and not same.tombstone and put and string.sub(old, same.first, same.last) == value then reply[#reply] = same.version elseif put or call('EXISTS', record) == 1 then"), "mutations/put", "L3.version-fresh"},
	{"retention is in seconds", onWrite("tonumber(ARGV[i + 4])", "math.floor(tonumber(ARGV[i + 4]) / 1000) * 1000"), "bounds/retention-fraction", "L4.retention"},
	{"long retentions lose digits", onWrite("expires = now + retention", "expires = tonumber(tostring(now + retention))"), "bounds/retention-long", "L4.retention"},
	{"a burst is refused", onWrite("local issued = call", "if call('ZCARD', ARGV[at + 1]) > 1 and conditions == 0 then return {'conflict', text(now)} end local issued = call"), "bounds/burst-under-snapshot", "L4.burst"},
	{"history is trimmed under a snapshot", onWrite("local low, high = boundaries()", "local low, high"), "snapshot/overwrite", "L5.snapshot"},
	{"tombstones are equal", onWrite("{key, value, version, expires, not put}", "{key, value, put and version or 'x', expires, not put}"), "snapshot/delete-between", "L5.snapshot"},
	{"a scan shows the present", onScan("record, boundary, '-inf'", "record, '+inf', '-inf'"), "snapshot/same-bytes", "L5.snapshot"},
	{"a scan shows expired records", onScan("live(member, began)", "not member.tombstone"), "scan/not-live", "L5.complete"},
	{"a scan judges expiry page by page", onScan("live(member, began)", "live(member, now)"), "snapshot/expiry", "L5.snapshot"},
	{"a star in a prefix is a pattern", onScan("local limit, page_bytes", "local star = string.find(prefix, '*', 1, true) if star then prefix, to = string.sub(prefix, 1, star - 1), '+' end local limit, page_bytes"), "scan/prefix-pattern", "L5.prefix"},
	{"a prefix matches what follows it", onScan("'LIMIT', 0, 100)", "'LIMIT', 0, 100) if first_page and rows == 0 then to = '+' end"), "scan/prefix-bytes", "L5.prefix"},
	{"the limit of a page is ignored", onScan("items == limit or rows", "rows"), "scan/complete-small-pages", "L5.limit"},
	{"the 4 MiB of a page are ignored", onScan("if items > 0 and size + bytes > page_bytes then return true end", ""), "scan/page-bytes", "L5.page-bytes"},
	{"a page skips a record", onScan("local rows, size, read, items = 0, 0, 0, 0", "local rows, size, read, items = 0, 0, 0, 0 if not first_page then from = '(' .. (call('ZRANGEBYLEX', index, from, to, 'LIMIT', 0, 1)[1] or after) end"), "scan/complete", "L5.complete"},
	{"the scan does not end", onScan("if more then", "if true then"), "scan/empty", "L5.complete"},
	{"a snapshot that is gone is an error", onScan("return {'expired'}", "return fail('no such snapshot')"), "cursor/foreign", "L5.expired"},
	{"a cursor is good for any prefix", onScan("or snapshot[3] ~= prefix", ""), "cursor/wrong-prefix", "L5.snapshot"},
}

func onWrite(old, new string) []suitetest.Edit {
	return []suitetest.Edit{{Script: "location_write", Old: old, New: new}}
}

func onScan(old, new string) []suitetest.Edit {
	return []suitetest.Edit{{Script: "location_scan", Old: old, New: new}}
}

// wrapped is the reference with something wrong in front of it.
var wrapped = []struct {
	name            string
	wrap            func(spi.LocationStore) spi.LocationStore
	id, requirement string
}{
	{"keys of conditions and mutations are counted apart", func(l spi.LocationStore) spi.LocationStore { return countsTwice{l} }, "bounds/keys-shared", "L4.key-bound"},
	{"bytes and version are read one after the other", func(l spi.LocationStore) spi.LocationStore { return readsTwice{l} }, "read/one-observation", "L2.observation"},
	{"a batch is applied in two halves", func(l spi.LocationStore) spi.LocationStore { return splits{l} }, "atomicity/pair-reads", "L4.isolation"},
	{"a batch is applied in two halves", func(l spi.LocationStore) spi.LocationStore { return splits{l} }, "atomicity/pair-scans", "L4.isolation"},
	{"keys are folded", func(l spi.LocationStore) spi.LocationStore { return folds{l} }, "values/key-identity-text", "L3.key-identity"},
	{"reads come from a cache", func(l spi.LocationStore) spi.LocationStore { return &caches{l, map[spi.Key]spi.ReadResult{}} }, "read/current-other-instance", "L2.observation"},
}

type countsTwice struct{ spi.LocationStore }

func (s countsTwice) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	if len(w.Conditions)+len(w.Mutations) > spi.MaxBatchKeys {
		return nil, spi.Argument("too many keys")
	}
	return s.LocationStore.Write(ctx, w)
}

type readsTwice struct{ spi.LocationStore }

func (s readsTwice) Read(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
	first, err := s.LocationStore.Read(ctx, k)
	if err != nil {
		return nil, err
	}
	second, err := s.LocationStore.Read(ctx, k)
	if f, ok := second.(spi.Found); ok {
		if b, ok := first.(spi.Found); ok {
			f.Value.Bytes = b.Value.Bytes
			return f, nil
		}
	}
	return second, err
}

type splits struct{ spi.LocationStore }

func (s splits) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	half := len(w.Mutations) / 2
	first, err := s.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions, Mutations: w.Mutations[:half]})
	begun, ok := first.(spi.Applied)
	if !ok {
		return first, err
	}
	second, err := s.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations[half:]})
	if a, ok := second.(spi.Applied); ok {
		a.PutVersions = append(begun.PutVersions, a.PutVersions...)
		return a, nil
	}
	return second, err
}

type folds struct{ spi.LocationStore }

func (s folds) Read(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
	return s.LocationStore.Read(ctx, spi.Key(strings.ToLower(string(k))))
}

type caches struct {
	spi.LocationStore
	answers map[spi.Key]spi.ReadResult // for a case that reads from one goroutine
}

func (s *caches) Read(ctx context.Context, k spi.Key) (spi.ReadResult, error) {
	if r, ok := s.answers[k].(spi.Found); ok {
		return r, nil
	}
	r, err := s.LocationStore.Read(ctx, k)
	s.answers[k] = r
	return r, err
}

func TestLocationCasesNoticeSabotage(t *testing.T) {
	env, cases := suitetest.Env(t), locationSections()
	for _, s := range locationSabotage {
		t.Run(s.name, func(t *testing.T) {
			suitetest.Catches(t, env, suitetest.Sabotaged(s.edits...), cases, "spi/"+s.id, s.requirement)
		})
	}
	for _, s := range wrapped {
		t.Run(s.name, func(t *testing.T) {
			p := target.Reference()
			open := p.OpenLocation
			p.OpenLocation = func(ctx context.Context, config target.StoreConfig) (spi.LocationStore, error) {
				l, err := open(ctx, config)
				if err != nil {
					return nil, err
				}
				return s.wrap(l), nil
			}
			suitetest.Catches(t, env, target.InProcess(p), cases, "spi/"+s.id, s.requirement)
		})
	}
}
