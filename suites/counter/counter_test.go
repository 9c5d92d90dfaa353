package counter_test

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
	"github.com/zlink-systems/zlink-conformance/suites/counter"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
	"github.com/zlink-systems/zlink-conformance/target"
)

func TestReferencePasses(t *testing.T) {
	suitetest.Passes(t, suitetest.Env(t), target.InProcess(target.Reference()), counter.Cases())
}

// Each sabotage of the reference's store is caught by the case, although the
// framework's side of issuing is right.
func TestCatchesSabotage(t *testing.T) {
	env, cases := suitetest.Env(t), counter.Cases()
	for _, s := range []struct {
		name            string
		target          target.Target
		id, requirement string
	}{
		{"conditions always hold", script("location_write", "if not holds then", "if false then"), "contention/target", "L8.contention"},
		{"conditions always hold, beside the reference", script("location_write", "if not holds then", "if false then"), "contention/with-reference", "L8.contention"},
		{"conditions always hold, overtaken", script("location_write", "if not holds then", "if false then"), "gate/lost-race", "L8.same-batch"},
		{"a missing condition always holds", script("location_write", "holds = not exists", "holds = true"), "gate/lost-race", "L8.same-batch"},
		{"only the first condition counts", script("location_write", "if not holds then", "if not holds and _ == 1 then"), "gate/false-condition", "L8.same-batch"},
		{"a conflict has written the first mutation", script("location_write", "return {'conflict', text(now)}", halfWrite), "gate/false-condition", "L8.same-batch"},
		{"conflicts without a reason", script("location_write", "if not holds then", "if not holds or call('GET', sequence) == '3' then"), "issue/next", "L8.first"},
		{"versions come again", suitetest.Sabotaged(
			suitetest.Edit{Script: "location_write", Old: "local version = text(score)", New: "local version = text(score % 3)"},
			suitetest.Edit{Script: "location_write", Old: "call('ZADD', record, version, member)", New: "call('ZADD', record, text(score), member)"},
			suitetest.Edit{Script: "location_write", Old: "trim(record, version, low, high)", New: "trim(record, text(score), low, high)"}), "issue/next", "L3.version-fresh"},
		{"a batch in two commits", wrapped(func(s spi.LocationStore) spi.LocationStore { return halves{s} }), "gate/observed", "L8.same-batch"},
		{"a batch that forgets its last mutation", wrapped(func(s spi.LocationStore) spi.LocationStore { return forgets{s} }), "gate/one-commit", "L8.same-batch"},
		{"numbers are doubles", wrapped(func(s spi.LocationStore) spi.LocationStore { return doubles{s} }), "issue/digits", "L8.decimal"},
		{"numbers are doubles, at the end", wrapped(func(s spi.LocationStore) spi.LocationStore { return doubles{s} }), "exhausted/highest", "L8.exhausted"},
		{"numbers are tidied", wrapped(func(s spi.LocationStore) spi.LocationStore { return tidies{s} }), "corrupt/refused", "L8.decimal"},
		{"an empty value is missing", wrapped(func(s spi.LocationStore) spi.LocationStore { return emptyMissing{s} }), "corrupt/refused", "L8.decimal"},
		{"numbers saturate below the end", wrapped(func(s spi.LocationStore) spi.LocationStore { return saturates{s} }), "exhausted/again", "L8.exhausted"},
		{"conditions always hold, at the end", script("location_write", "if not holds then", "if false then"), "exhausted/race", "L8.exhausted"},
		{"a deleted row is an empty one", script("location_write", "expires, not put}", "expires, false}"), "issue/after-delete", "L8.first"},
		{"values expire", script("location_write", "if retention ~= 0 then", "expires = now + 3600000 if retention ~= 0 then"), "issue/first", "L8.first"},
		{"rows in quotes", script("location_write", "cmsgpack.pack({key, value,", `cmsgpack.pack({key, '"' .. value .. '"',`), "keys/physical", "L8.decimal"},
		{"keys of its own", keys(`opaque:(%x%x%x%x%x%x%x%x+)$`, `opaque:own-%1`), "keys/physical", "L8.key"},
		{"keys of its own, beside the reference", keys(`opaque:(%x%x%x%x%x%x%x%x+)$`, `opaque:own-%1`), "keys/shared", "L8.key"},
		{"keys of its own, flushed", keys(`opaque:(%x%x%x%x%x%x%x%x+)$`, `opaque:own-%1`), "retired/flush", "L8.retired"},
		{"reads the retired keys", wrapped(func(s spi.LocationStore) spi.LocationStore { return retired{s} }), "retired/never-read", "L8.retired"},
	} {
		t.Run(s.name, func(t *testing.T) {
			suitetest.Catches(t, env, s.target, cases, "counter/"+s.id, s.requirement)
		})
	}
}

func script(name, old, new string) target.Target {
	return suitetest.Sabotaged(suitetest.Edit{Script: name, Old: old, New: new})
}

// keys edits the names of Redis keys that the scripts are given.
func keys(pattern, replacement string) target.Target {
	return suitetest.Sabotaged(suitetest.Edit{New: `
for _, list in ipairs({KEYS, ARGV}) do
  for i, name in ipairs(list) do list[i] = string.gsub(name, '` + pattern + `', '` + replacement + `') end
end
`})
}

// halfWrite puts the batch's first mutation although it answers Conflict.
const halfWrite = `
local first = 4 + 4 * conditions
local score = call('INCR', sequence)
call('ZADD', ARGV[first + 1], score, '\1' .. cmsgpack.pack({ARGV[first + 2], ARGV[first + 3], text(score), 0, false}))
return {'conflict', text(now)}`

// wrapped is the reference with another Location Store in front.
func wrapped(wrap func(spi.LocationStore) spi.LocationStore) target.Target {
	p := target.Reference()
	p.OpenLocation = func(_ context.Context, c target.StoreConfig) (spi.LocationStore, error) {
		o, err := target.ReferenceOptions(c)
		if err != nil {
			return nil, err
		}
		l, err := reference.OpenLocation(o)
		if err != nil {
			return nil, err
		}
		return wrap(l), nil
	}
	return target.InProcess(p)
}

// halves writes the first mutation and only then the others.
type halves struct{ spi.LocationStore }

func (s halves) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	if len(w.Mutations) < 2 {
		return s.LocationStore.Write(ctx, w)
	}
	first, err := s.LocationStore.Write(ctx, spi.WriteRequest{Conditions: w.Conditions, Mutations: w.Mutations[:1]})
	applied, ok := first.(spi.Applied)
	if !ok {
		return first, err
	}
	time.Sleep(5 * time.Millisecond)
	second, err := s.LocationStore.Write(ctx, spi.WriteRequest{Mutations: w.Mutations[1:]})
	if a, ok := second.(spi.Applied); ok {
		applied.PutVersions = append(applied.PutVersions, a.PutVersions...)
	}
	return applied, err
}

// forgets does not write the last of several mutations.
type forgets struct{ spi.LocationStore }

func (s forgets) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	w.Mutations = w.Mutations[:max(1, len(w.Mutations)-1)]
	return s.LocationStore.Write(ctx, w)
}

// rewrite changes the values that are put.
func rewrite(ctx context.Context, s spi.LocationStore, w spi.WriteRequest, change func([]byte) []byte) (spi.WriteResult, error) {
	for i, m := range w.Mutations {
		if p, ok := m.(spi.Put); ok {
			p.Bytes = change(p.Bytes)
			w.Mutations[i] = p
		}
	}
	return s.Write(ctx, w)
}

// doubles keeps numbers as doubles.
type doubles struct{ spi.LocationStore }

func (s doubles) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	return rewrite(ctx, s.LocationStore, w, func(b []byte) []byte {
		if f, err := strconv.ParseFloat(string(b), 64); err == nil {
			return strconv.AppendFloat(nil, f, 'f', 0, 64)
		}
		return b
	})
}

// tidies keeps whole numbers in their shortest form.
type tidies struct{ spi.LocationStore }

func (s tidies) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	return rewrite(ctx, s.LocationStore, w, func(b []byte) []byte {
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(b)), 10, 64); err == nil {
			return strconv.AppendInt(nil, n, 10)
		}
		return b
	})
}

// saturates keeps numbers up to 2^63-2.
type saturates struct{ spi.LocationStore }

func (s saturates) Write(ctx context.Context, w spi.WriteRequest) (spi.WriteResult, error) {
	return rewrite(ctx, s.LocationStore, w, func(b []byte) []byte {
		return bytes.Replace(b, []byte("9223372036854775807"), []byte("9223372036854775806"), 1)
	})
}

// emptyMissing reads an empty value as missing.
type emptyMissing struct{ spi.LocationStore }

func (s emptyMissing) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	r, err := s.LocationStore.Read(ctx, key)
	if f, ok := r.(spi.Found); ok && len(f.Value.Bytes) == 0 {
		return spi.Missing{StoreNow: f.StoreNow}, nil
	}
	return r, err
}

// retired reads a counter that is missing from where it used to be.
type retired struct{ spi.LocationStore }

func (s retired) Read(ctx context.Context, key spi.Key) (spi.ReadResult, error) {
	r, err := s.LocationStore.Read(ctx, key)
	if _, missing := r.(spi.Missing); missing && key == "zlink:v11:object-counter" {
		return s.LocationStore.Read(ctx, "zlink:v11:counter:object")
	}
	return r, err
}
