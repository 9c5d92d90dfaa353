package model_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

// planted are providers that are wrong in one way, the case that must notice
// it, the requirements of which it must cite one (which one depends on the
// operation that notices it first), and the greatest number of operations
// to which it must shrink (0: the case does not shrink).
var planted = []struct {
	name             string
	target           func(*testing.T) targets.Target
	id, requirements string
	shrunk           int
}{
	{"a stale version is accepted", script("location_write", "current.version == expected", "tonumber(current.version) >= (tonumber(expected) or math.huge)"),
		"sequences/location", "L4.version", 6},
	{"a version counts although the record is deleted", script("location_write", "holds = exists and current.version == expected",
		"holds = current and (exists and current.version == expected or not exists and tonumber(expected) and tonumber(expected) < tonumber(current.version))"),
		"sequences/location", "L4.version", 6},
	{"deleting what is absent conflicts", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			for _, m := range w.Mutations {
				if d, ok := m.(spi.Delete); ok {
					if r, err := l.LocationStore.Read(ctx, d.Key); err == nil {
						if missing, ok := r.(spi.Missing); ok {
							return spi.Conflict(missing), nil
						}
					}
				}
			}
			return l.LocationStore.Write(ctx, w)
		}
	}), "sequences/location", "L4.delete L4.missing L4.version", 4},
	{"a scan shows later puts", script("location_scan", "'ZREVRANGEBYSCORE', record, boundary,", "'ZREVRANGEBYSCORE', record, '+inf',"),
		"sequences/snapshots", "L5.snapshot", 6},
	{"the history under a snapshot is trimmed", script("location_write", "local low, high = boundaries()", "local low, high"),
		"sequences/snapshots", "L5.snapshot", 6},
	{"equal tombstones move the older one", script("location_write", "{key, value, version, expires", "{key, value, put and version or '0', expires"),
		"sequences/snapshots", "L5.snapshot", 8},
	{"a conflicting batch leaves its last mutation", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			r, err := l.LocationStore.Write(ctx, w)
			if _, conflict := r.(spi.Conflict); conflict && len(w.Mutations) > 0 {
				_, err = l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations[len(w.Mutations)-1:]})
			}
			return r, err
		}
	}), "sequences/location", "L4.all-or-nothing L4.missing L4.version L5.complete", 6},
	{"the last page drops an item", location(func(l *faulty) {
		l.scan = func(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
			res, err := l.LocationStore.Scan(ctx, r)
			if p, ok := res.(spi.Page); ok && r.Cursor != nil && p.Next == nil && len(p.Items) > 1 {
				p.Items = p.Items[:len(p.Items)-1]
				return p, err
			}
			return res, err
		}
	}), "sequences/snapshots", "L5.complete L5.snapshot", 6},
	{"versions of a key start again", edited("location_write",
		"local version = text(score)", "local version = text(score) local given = 'v' .. call('ZCARD', record)",
		"reply[#reply + 1] = version", "reply[#reply + 1] = given",
		"{key, value, version, expires", "{key, value, given, expires"),
		"sequences/location", "L3.version-fresh", 5},
	{"renew answers missing", relocation(func(r *faultyBlobs) {
		r.renew = func(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
			res, err := r.RelocationStore.Renew(ctx, ref, ms)
			if a, ok := res.(spi.Renewed); ok {
				return spi.Missing{StoreNow: a.StoreNow}, err
			}
			return res, err
		}
	}), "sequences/relocation", "R4.renew", 4},
	{"a repeated put of a prefix is taken as the same", script("relocation_put", "call('STRLEN', key) == #payload and call('GET', key) == payload",
		"string.sub(call('GET', key), 1, #payload) == payload"), "sequences/relocation", "R4.put-compare", 4},
	{"a conflicting put replaces the payload", script("relocation_put", "return {'conflict', text(now)}", "call('SET', key, payload, 'KEEPTTL') return {'conflict', text(now)}"),
		"sequences/relocation", "R4.put-keeps", 5},
	{"a repeated put shortens the retention", script("relocation_put", "return {'alreadyStored', text(now), text(expires)}",
		"expires = now + tonumber(ARGV[2]) call('PEXPIREAT', key, text(expires)) return {'alreadyStored', text(now), text(expires)}"),
		"sequences/relocation", "R4.put-keeps", 4},
	{"a scan shows what has expired", script("location_scan", "live(member, began)", "not member.tombstone"), "sequences/clock", "L5.complete", 5},
	{"an expired record cannot be claimed", script("location_write", "holds = not exists", "holds = not current or current.tombstone"),
		"sequences/clock", "L4.missing L4.version", 5},
	{"only the own records are scanned", renamed("'index'"), "sequences/shared-prefix", "L9.interop-scan", 4},
	{"snapshots of others are not looked at", renamed("'snapshot-boundary'"), "sequences/shared-prefix", "L9.interop-snapshot", 6},
	{"conditions are checked before the write and not in it", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			r, err := l.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions})
			if _, applied := r.(spi.Applied); !applied {
				return r, err
			}
			runtime.Gosched()
			return l.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations})
		}
	}), "concurrency/registers", "L4.version", 0},
	{"a batch is applied key by key", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (r spi.WriteResult, err error) {
			applied := spi.Applied{}
			for i, m := range w.Mutations {
				part := spi.WriteRequest{Mutations: []spi.Mutation{m}}
				if i == 0 {
					part.Conditions = w.Conditions
				}
				r, err = l.LocationStore.Write(ctx, part)
				a, ok := r.(spi.Applied)
				if !ok {
					return r, err
				}
				applied.StoreNow = a.StoreNow
				applied.PutVersions = append(applied.PutVersions, a.PutVersions...)
				time.Sleep(time.Millisecond) // for the others to look
			}
			return applied, nil
		}
	}), "concurrency/batches", "L4.isolation", 0},
	{"a scan reads page by page without a snapshot", script("location_scan", "'ZREVRANGEBYSCORE', record, boundary,", "'ZREVRANGEBYSCORE', record, '+inf',"),
		"concurrency/batches", "L4.isolation", 0},
	{"a batch is sent again after a lost reply", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			r, err := l.LocationStore.Write(ctx, w)
			for tries := 0; err != nil && tries < 50; tries++ {
				r, err = l.LocationStore.Write(ctx, w)
			}
			return r, err
		}
	}), "concurrency/lost-replies", "L6.unknown-outcome L4.applied", 0},
	{"a lost reply is a conflict", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			r, err := l.LocationStore.Write(ctx, w)
			if err != nil {
				return spi.Conflict{StoreNow: 1}, nil
			}
			return r, err
		}
	}), "concurrency/lost-replies", "L6.unknown-outcome", 0},
	{"reads are cached", location(func(l *faulty) {
		cache := map[spi.Key]spi.Found{}
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			if f, ok := cache[key]; ok {
				delete(cache, key)
				return f, nil
			}
			r, err := l.LocationStore.Read(ctx, key)
			if f, ok := r.(spi.Found); ok {
				cache[key] = f
			}
			return r, err
		}
	}), "concurrency/registers", "L4.version", 0},
	{"puts of keys with special characters are lost", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			for i, m := range w.Mutations {
				if p, ok := m.(spi.Put); ok && strings.ContainsAny(string(p.Key), "*?[]{}\\ \n:A") {
					p.Key += "'"
					w.Mutations[i] = p
				}
			}
			return l.LocationStore.Write(ctx, w)
		}
	}), "metamorphic/renamed-keys", "L3.key-identity", 0},
	{"a batch of conditions alone applies", location(func(l *faulty) {
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			r, err := l.LocationStore.Write(ctx, w)
			if c, conflict := r.(spi.Conflict); conflict && len(w.Mutations) == 0 {
				return spi.Applied{StoreNow: c.StoreNow}, nil
			}
			return r, err
		}
	}), "metamorphic/split-batches", "L4.all-or-nothing", 0},
	{"a read answers for the key that was written last", location(func(l *faulty) {
		var last spi.Key
		l.write = func(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
			if len(w.Mutations) == 1 {
				last = w.Mutations[0].MutationKey()
			}
			return l.LocationStore.Write(ctx, w)
		}
		l.read = func(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
			if last != "" {
				key = last
			}
			return l.LocationStore.Read(ctx, key)
		}
	}), "metamorphic/reordered", "L4.missing", 0},
}

func TestFindsPlantedBugs(t *testing.T) {
	env := redistest.Env(t)
	cases := model.Cases(model.Options{Operations: 20_000})
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			var chosen []harness.Case
			for _, c := range cases {
				if c.ID == "model/"+p.id {
					chosen = append(chosen, c)
				}
			}
			if len(chosen) != 1 {
				t.Fatalf("%d cases are model/%s", len(chosen), p.id)
			}
			// A sequence is what its seed makes it. Which reply is lost and who meets
			// whom is chance, so that a history of concurrent clients may show
			// nothing: another seed makes another one.
			c := suitetest.Run(t, env, p.target(t), chosen, 1).Cases[0]
			for tries := int64(1); c.Verdict == result.Pass && strings.HasPrefix(p.id, "concurrency/") && tries < 5; tries++ {
				c = suitetest.Run(t, env, p.target(t), chosen, 1+tries).Cases[0]
			}
			if c.Verdict == result.Skipped {
				t.Skip(c.Reason)
			}
			if c.Verdict != result.Fail || !slices.Contains(strings.Fields(p.requirements), c.Findings[0].Requirement) {
				t.Fatalf("%s %s, want a breach of %s\n%s", c.Verdict, c.Reason, p.requirements, suitetest.Show(c))
			}
			if p.shrunk == 0 {
				return
			}
			text := replayable(t, c)
			script, err := model.ParseScript(text)
			if err != nil {
				t.Fatalf("the note is no script: %v\n%s", err, text)
			}
			t.Logf("%d operations:\n%s", len(script), text)
			if len(script) > p.shrunk {
				t.Errorf("shrunk to %d operations, want at most %d", len(script), p.shrunk)
			}
			replay(t, env, p.target(t), script, c.Findings[0].Requirement)
		})
	}
}

// replayable is the script in the case's notes, as a reader would copy it.
func replayable(t *testing.T, c result.Case) string {
	t.Helper()
	for _, note := range c.Evidence.Notes {
		if _, script, ok := strings.Cut(note, "--replay FILE\n"); ok {
			return script
		}
	}
	t.Fatalf("no note holds a script: %q", c.Evidence.Notes)
	return ""
}

func replay(t *testing.T, env *redisenv.Env, broken targets.Target, script model.Script, requirement string) {
	t.Helper()
	c := suitetest.Run(t, env, broken, []harness.Case{model.Replay(script)}, 1).Cases[0]
	if c.Verdict != result.Fail || c.Findings[0].Requirement != requirement {
		t.Errorf("replayed: %s %s, want a breach of %s\n%s", c.Verdict, c.Reason, requirement, suitetest.Show(c))
	}
	suitetest.Passes(t, env, targets.InProcess(refprovider.New()), []harness.Case{model.Replay(script)})
}

// script is the reference with a part of one script replaced, which must be
// there once.
func script(name, old, new string) func(*testing.T) targets.Target { return edited(name, old, new) }

// edited is script for several parts, each followed by its replacement.
func edited(name string, pairs ...string) func(*testing.T) targets.Target {
	return rewritten(func(t *testing.T, script, source string) string {
		for i := 0; script == name && i < len(pairs); i += 2 {
			if strings.Count(source, pairs[i]) != 1 {
				t.Errorf("the script %s holds %q %d times, want once", name, pairs[i], strings.Count(source, pairs[i]))
			}
			source = strings.Replace(source, pairs[i], pairs[i+1], 1)
		}
		return source
	})
}

// renamed is the reference that keeps a shared key of scans under a name of its
// own.
func renamed(key string) func(*testing.T) targets.Target {
	return rewritten(func(_ *testing.T, script, source string) string {
		if script == "location_scan" || script == "location_write" {
			return strings.Replace(source, key, "'own'", 1)
		}
		return source
	})
}

func rewritten(rewrite func(t *testing.T, script, source string) string) func(*testing.T) targets.Target {
	return func(t *testing.T) targets.Target {
		return targets.InProcess(refprovider.With(func(o reference.Options) reference.Options {
			o.Rewrite = func(script, source string) string { return rewrite(t, script, source) }
			return o
		}))
	}
}

// faulty is a Location Store of which operations are replaced.
type faulty struct {
	spi.LocationStore
	read  func(context.Context, spi.Key) (spi.ReadResult, error)
	write func(context.Context, spi.WriteRequest) (spi.WriteResult, error)
	scan  func(context.Context, spi.ScanRequest) (spi.ScanResult, error)
}

func (f *faulty) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	return f.read(ctx, key)
}
func (f *faulty) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	return f.write(ctx, w)
}
func (f *faulty) Scan(ctx context.Context, r spi.ScanRequest) (spi.ScanResult, error) {
	return f.scan(ctx, r)
}

func location(change func(*faulty)) func(*testing.T) targets.Target {
	return func(*testing.T) targets.Target {
		p := refprovider.New()
		open := p.OpenLocation
		p.OpenLocation = func(ctx context.Context, c targets.StoreConfig) (spi.LocationStore, error) {
			s, err := open(ctx, c)
			if err != nil {
				return nil, err
			}
			f := &faulty{s, s.Read, s.Write, s.Scan}
			change(f)
			return f, nil
		}
		return targets.InProcess(p)
	}
}

// faultyBlobs is faulty for a Relocation Store.
type faultyBlobs struct {
	spi.RelocationStore
	renew func(context.Context, spi.Reference, spi.Retention) (spi.BlobRenewResult, error)
}

func (f *faultyBlobs) Renew(ctx context.Context, ref spi.Reference, ms spi.Retention) (spi.BlobRenewResult, error) {
	return f.renew(ctx, ref, ms)
}

func relocation(change func(*faultyBlobs)) func(*testing.T) targets.Target {
	return func(*testing.T) targets.Target {
		p := refprovider.New()
		open := p.OpenRelocation
		p.OpenRelocation = func(ctx context.Context, c targets.StoreConfig) (spi.RelocationStore, error) {
			s, err := open(ctx, c)
			if err != nil {
				return nil, err
			}
			f := &faultyBlobs{s, s.Renew}
			change(f)
			return f, nil
		}
		return targets.InProcess(p)
	}
}
