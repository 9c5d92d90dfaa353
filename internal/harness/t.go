package harness

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// T is what a running case may use. Its methods are safe for concurrent use;
// those that stop the case do so in the goroutine that calls them.
type T struct {
	run        *runner
	definition Case
	ctx        context.Context
	prefix     string
	rand       *rand.Rand
	target     *Provider
	reference  *Provider

	mu       sync.Mutex
	findings []result.Finding
	strange  string         // a citation of a requirement that the case does not declare, or ""
	verdict  result.Verdict // Skipped or Error once the case said so
	reason   string
	ops      []string // the last operations, oldest first
	gone     int      // number of operations before those
	notes    []string
	cleanups []func()
	scans    scans
}

// stop unwinds a case that cannot go on.
type stop struct{}

// Context ends when the case ends or is given up; operations under it are then
// abandoned at once.
func (t *T) Context() context.Context { return t.ctx }

// Rand is seeded by the run's seed and the case's ID. It is for the case's own
// goroutine alone.
func (t *T) Rand() *rand.Rand { return t.rand }

// EveryByte returns the 256 bytes that there are.
func EveryByte() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// RandomBytes returns n bytes of Rand.
func (t *T) RandomBytes(n int) []byte {
	b := make([]byte, 0, n+7)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, t.rand.Uint64())
	}
	return b[:n]
}

// Seed is the case's own seed, for a case that makes its own generators.
func (t *T) Seed() uint64 { return caseSeed(t.run.config.Seed, t.definition.ID) }

func caseSeed(seed int64, id string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, id)
	return h.Sum64()
}

// KeyPrefix is the case's own key prefix on every Redis.
func (t *T) KeyPrefix() string { return t.prefix }

// NewKeyPrefix returns one more key prefix, which is cleaned up with the
// case's own since it starts with it. The name may hold any characters.
func (t *T) NewKeyPrefix(name string) string { return t.prefix + "-" + name }

// Target is the provider under test.
func (t *T) Target() *Provider { return t.target }

// Reference is the reference provider, on the same Redis and key prefix.
func (t *T) Reference() *Provider { return t.reference }

// SkewedTarget is the provider under test as if its host's clock ran offset
// ahead, behind when negative. It needs targets.CapClock. All cases share it,
// since it may take half a minute to start.
func (t *T) SkewedTarget(offset time.Duration) *Provider {
	skewed, err := t.run.skewed.at(offset)
	if reason, ok := unavailable(err); ok {
		t.Skipf("%s", reason)
	}
	t.trouble(err)
	return &Provider{t: t, name: "target with another clock", target: skewed}
}

// Location is the target's Location Store on the case's prefix, opened once.
func (t *T) Location() *Location { return t.target.Location() }

// Relocation is the target's Relocation Store on the case's prefix, opened once.
func (t *T) Relocation() *Relocation { return t.target.Relocation() }

// Redis is a raw client of the main server.
func (t *T) Redis() *redis.Client { return t.run.client }

// MainServer is the Redis that stores are opened on by default.
func (t *T) MainServer() *redisenv.Server { return t.run.config.Env.Main() }

// Server starts one more Redis for this case and ends it with the case. Where
// it can't be had, the case is skipped with the reason.
func (t *T) Server(options redisenv.ServerOptions) *redisenv.Server {
	s, err := t.run.config.Env.Extra(t.ctx, options)
	if reason, ok := unavailable(err); ok {
		t.Skipf("%s", reason)
	}
	if err != nil {
		t.Troublef("an extra Redis did not start: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Client opens a raw client of a server that this case started.
func (t *T) Client(s *redisenv.Server) *redis.Client {
	c := redis.NewClient(s.Options())
	t.Cleanup(func() { c.Close() })
	return c
}

// Proxy puts a fault proxy in front of the server (nil: the main one) for this
// case. The proxy passes everything on until it is told otherwise.
func (t *T) Proxy(s *redisenv.Server) *redisenv.Proxy {
	if s == nil {
		s = t.MainServer()
	}
	p, err := redisenv.NewProxy(t.ctx, s)
	if reason, ok := unavailable(err); ok {
		t.Skipf("%s", reason)
	}
	if err != nil {
		t.Troublef("the fault proxy did not start: %v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// Now is the time of the main server's clock.
func (t *T) Now() spi.Millis { return t.NowOf(t.Redis()) }

// NowOf is the time of the clock of the server behind the client.
func (t *T) NowOf(c *redis.Client) spi.Millis {
	now, err := c.Time(t.ctx).Result()
	if err != nil {
		t.Troublef("TIME failed: %v", err)
	}
	return spi.Millis(now.UnixMilli())
}

// Cleanup runs f when the case has ended, last added first. The case's context
// is over by then.
func (t *T) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// Await polls until the condition holds, with short pauses. It fails the case,
// citing the requirement, when it does not hold within the limit.
func (t *T) Await(requirement, what string, limit time.Duration, condition func() bool) {
	deadline := time.Now().Add(limit)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf(requirement, "%s did not happen within %v", what, limit)
		}
		t.Pause(2 * time.Millisecond)
	}
}

// Pause waits for real time to pass, for what only a clock can bring about.
func (t *T) Pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
		panic(stop{})
	}
}

// Concurrently runs f(0..n-1) in n goroutines and waits for all; if one
// stopped the case, so does Concurrently. A goroutine that broke counts before
// those that stopped.
func (t *T) Concurrently(n int, f func(i int)) {
	var wg sync.WaitGroup
	ended := make([]any, n)
	for i := range n {
		wg.Go(func() {
			defer func() { ended[i] = broken(recover()) }()
			f(i)
		})
	}
	wg.Wait()
	var stopped any
	for _, e := range ended {
		if _, ok := e.(breakage); ok {
			panic(e)
		}
		if e != nil {
			stopped = e
		}
	}
	if stopped != nil {
		panic(stopped)
	}
}

// breakage is a panic of a case's own code, with the stack on which it began.
type breakage struct {
	value any
	stack []byte
}

// broken is what was recovered, a panic of a case's own code with its stack.
func broken(recovered any) any {
	switch recovered.(type) {
	case nil, stop, breakage:
		return recovered
	}
	return breakage{recovered, debug.Stack()}
}

// Notef adds a line to the evidence that is shown if the case does not pass.
func (t *T) Notef(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notes = appendLast(t.notes, clip(fmt.Sprintf(format, args...), maxNoteBytes), maxNotes)
}

// Failf records that the requirement is broken and goes on.
func (t *T) Failf(requirement, format string, args ...any) {
	t.find(requirement, fmt.Sprintf(format, args...), "")
}

// Fatalf records that the requirement is broken and stops the case.
func (t *T) Fatalf(requirement, format string, args ...any) {
	t.Failf(requirement, format, args...)
	panic(stop{})
}

// Checkf records that the requirement is broken unless ok holds, and returns ok.
func (t *T) Checkf(ok bool, requirement, format string, args ...any) bool {
	if !ok {
		t.Failf(requirement, format, args...)
	}
	return ok
}

// Equal records a diff unless got equals want by go-cmp, and reports whether
// it does. Long byte slices and strings should be compared by EqualBytes.
func (t *T) Equal(requirement, what string, want, got any, options ...cmp.Option) bool {
	diff := cmp.Diff(want, got, options...)
	if diff != "" {
		t.find(requirement, what+" is not what it must be", "- expected\n+ got\n"+diff)
	}
	return diff == ""
}

// EqualBytes records the first difference unless got equals want, and reports
// whether it does.
func (t *T) EqualBytes(requirement, what string, want, got []byte) bool {
	if slices.Equal(want, got) {
		return true
	}
	t.find(requirement, what+" is not what it must be", bytesDiff(want, got))
	return false
}

// Near records a finding unless got lies within tolerance of want.
func (t *T) Near(requirement, what string, want, got, tolerance spi.Millis) bool {
	return t.Checkf(got >= want-tolerance && got <= want+tolerance, requirement,
		"%s is %d, %+d ms from the expected %d (tolerance %d ms)", what, got, got-want, want, tolerance)
}

// Between records a finding unless low <= got <= high.
func (t *T) Between(requirement, what string, low, got, high spi.Millis) bool {
	return t.Checkf(low <= got && got <= high, requirement, "%s is %d, not within %d..%d", what, got, low, high)
}

// ErrorKind records a finding unless err is an *spi.Error of one of the kinds,
// and reports whether it is. what names the operation, such as "a key of 1025
// bytes".
func (t *T) ErrorKind(requirement, what string, err error, kinds ...spi.ErrorKind) bool {
	if err == nil {
		t.Failf(requirement, "%s succeeded, expected an error of kind %s", what, joinKinds(kinds))
		return false
	}
	return t.Checkf(slices.Contains(kinds, spi.KindOf(err)), requirement,
		"%s ended with %v, expected an error of kind %s", what, err, joinKinds(kinds))
}

// Skipf stops the case without a verdict on the provider.
func (t *T) Skipf(format string, args ...any) { t.end(result.Skipped, fmt.Sprintf(format, args...)) }

// Troublef stops the case because the harness, Redis or the target's process
// is in trouble: an error, never a verdict on the provider.
func (t *T) Troublef(format string, args ...any) { t.end(result.Error, fmt.Sprintf(format, args...)) }

func (t *T) end(v result.Verdict, reason string) {
	t.mu.Lock()
	if t.verdict == "" || v == result.Error && t.verdict != result.Error {
		t.verdict, t.reason = v, reason
	}
	t.mu.Unlock()
	panic(stop{})
}

func (t *T) find(requirement, what, diff string) {
	r, ok := t.run.config.Catalogue.Requirement(requirement)
	if !ok {
		r = contract.Requirement{ID: requirement, Level: "MUST", Sentence: "(no such requirement in the catalogue)"}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.definition.Requirements, requirement) {
		t.strange = fmt.Sprintf("it cites %s, which it does not declare: %s", requirement, what)
		return
	}
	if len(t.findings) >= maxFindings {
		t.findings[maxFindings-1].More++
		return
	}
	t.findings = append(t.findings, result.Finding{
		Requirement: r.ID, Level: string(r.Level), Sentence: r.Sentence, Source: r.Source, What: clip(what, maxTextLine),
		Diff: clip(diff, maxDiffBytes),
	})
}

// Closest is the requirement that a failing step cites: of the candidates,
// which speak of such a step, the first that the case declares, else the case's
// main one.
func (t *T) Closest(candidates ...string) string {
	for _, id := range candidates {
		if slices.Contains(t.definition.Requirements, id) {
			return id
		}
	}
	return t.definition.Requirements[0]
}

// op records an operation for the evidence.
func (t *T) op(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ops = append(t.ops, line); len(t.ops) <= maxOperations {
		return
	}
	// The first line counts those that are gone.
	t.gone = max(t.gone+1, 2)
	t.ops = slices.Delete(t.ops, 0, 1)
	t.ops[0] = fmt.Sprintf("… %d earlier operations not shown", t.gone)
}

// appendLast appends a line and keeps the last ones.
func appendLast(lines []string, line string, most int) []string {
	if len(lines) == most {
		lines = append(lines[:0], lines[1:]...)
	}
	return append(lines, line)
}

// trouble stops the case if err says that the target's process, not the
// provider, is at fault.
func (t *T) trouble(err error) {
	if err == nil {
		return
	}
	te, ok := asTrouble(err)
	if ok && te.Lost != "" {
		t.run.lose(te)
	}
	if t.ctx.Err() != nil {
		panic(stop{}) // given up: what the operation says now is no answer
	}
	if ok {
		for _, line := range te.Log {
			t.Notef("target log: %s", line)
		}
		t.Troublef("%s", te.What)
	}
	if _, ok := errors.AsType[*targets.InexpressibleError](err); ok {
		t.Skipf("%v", err)
	}
	switch spi.KindOf(err) {
	case spi.KindUnsupported:
		// What its hello does not announce, no case asks of it.
		t.Fatalf(t.Closest(), "the target says that it does not support this, although its hello announced it: %v", err)
	case spi.KindInternal:
		t.Troublef("the target's adapter failed: %v", err)
	case "":
		t.Troublef("the target answered an unclassified error: %v", err)
	}
}
