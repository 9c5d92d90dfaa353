package spicases

import (
	"bytes"
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// The target's side overwrites every input buffer as soon as the operation has
// ended (targets.Location), so a case on inputs puts and reads back.
func bufferCases() []harness.Case {
	return []harness.Case{
		locationCase("buffers/location-input", "Values stay as they were put although the caller overwrites its "+
			"buffers after the Write.",
			"L6.input-bytes", locationInput),
		locationCase("buffers/conflict-input", "A Write that was a Conflict leaves nothing behind, whatever "+
			"becomes of its buffers.",
			"L6.input-bytes L4.all-or-nothing", conflictInput),
		locationCase("buffers/location-result", "The bytes of a read do not change when the same and other keys are read, "+
			"scanned, overwritten and deleted.",
			"L3.result-stable", locationResult),
		relocationCase("buffers/relocation-input",
			"Payloads stay as they were put although the caller overwrites its buffer after the Put.",
			"R4.stable", relocationInput),
		relocationCase("buffers/relocation-result",
			"The bytes of a read do not change when the same and other references are read, put, renewed and deleted.",
			"R4.stable", relocationResult),
	}
}

// bufferSizes include one that a client library may treat as small and one
// that needs several reads from a connection.
var bufferSizes = []int{1, 64, 5000, 200_000}

func patterned(size int, seed byte) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = seed + byte(i*13)
	}
	return b
}

func locationInput(t *harness.T) {
	l, other := t.Location(), otherInstance(t)
	var w spi.WriteRequest
	for i, size := range bufferSizes {
		w.Mutations = append(w.Mutations, spi.Put{Key: spi.Key(fmt.Sprint("batch", i)), Bytes: patterned(size, byte(i))})
	}
	l.MustApply(w)
	for i, size := range bufferSizes {
		l.MustPut(spi.Key(fmt.Sprint("single", i)), patterned(size, byte(i)), nil)
	}
	for i, size := range bufferSizes {
		for _, kind := range []string{"batch", "single"} {
			key := spi.Key(fmt.Sprint(kind, i))
			for _, reader := range []*harness.Location{l, other} {
				t.EqualBytes("L6.input-bytes", fmt.Sprintf("the value of %s, %d bytes,", key, size), patterned(size, byte(i)),
					reader.MustFind(key).Value.Bytes)
			}
		}
	}
}

func conflictInput(t *harness.T) {
	l := t.Location()
	l.MustPut("k", []byte("first"), nil)
	before := look(l, "k")
	l.MustConflict(write(given(ifMissing("k")), put("k", "other"), put("new", "other")))
	same(t, "L6.input-bytes", "the store after a Conflict", before, look(l, "k", "new"))
}

// heldResult is a result of which the provider's own buffer is looked at again.
type heldResult struct {
	what    string
	want    []byte
	recheck targets.Recheck
}

func checkHeld(t *harness.T, requirement string, held []heldResult) {
	for _, h := range held {
		now, err := h.recheck(t.Context())
		if err != nil {
			t.Troublef("the target could not show the buffer of %s again: %v", h.what, err)
		}
		t.EqualBytes(requirement, "the buffer of "+h.what+" after later operations", h.want, now)
	}
}

func locationResult(t *harness.T) {
	l := t.Location()
	var held []heldResult
	hold := func(key spi.Key, want []byte) {
		what := fmt.Sprintf("read %d of %s", len(held)+1, key)
		r, recheck, err := l.ReadHeld(t.Context(), key)
		f, ok := r.(spi.Found)
		if err != nil || !ok {
			t.Fatalf("L3.result-stable", "%s answered %s, error %v", what, harness.Describe(r), err)
		}
		t.EqualBytes("L3.result-stable", "the result of "+what, want, f.Value.Bytes)
		held = append(held, heldResult{what, want, recheck})
	}
	for i, size := range bufferSizes {
		a, b := spi.Key(fmt.Sprint("a", i)), spi.Key(fmt.Sprint("b", i))
		first, second, twin := patterned(size, 1), patterned(size, 2), patterned(size, 3)
		l.MustPut(a, first, nil)
		l.MustPut(b, twin, nil)
		hold(a, first)
		hold(b, twin)
		hold(a, first)
		l.MustPut(a, second, nil)
		hold(a, second)
		l.MustScan("", 100)
		l.MustDelete(a)
		l.MustMiss(a)
		hold(b, twin)
	}
	checkHeld(t, "L3.result-stable", held)
}

func relocationInput(t *harness.T) {
	r, other := t.Relocation(), t.Target().OpenRelocation(harness.Store{})
	for i, size := range bufferSizes {
		ref, payload := spi.Reference(fmt.Sprint("r", i)), patterned(size, byte(i))
		r.MustStore(ref, payload, hour)
		inverted := bytes.Clone(payload)
		for j := range inverted {
			inverted[j] ^= 0xff
		}
		for _, store := range []*harness.Relocation{r, other} {
			t.EqualBytes("R4.stable", fmt.Sprintf("the payload of %d bytes", size), payload, store.MustFind(ref).Bytes)
			if res := store.MustPut(ref, inverted, hour); !isConflict(res) {
				t.Failf("R4.stable", "putting what the caller's buffer of %d bytes held afterwards answered %s", size,
					harness.Describe(res))
			}
			if res, ok := store.MustPut(ref, payload, hour).(spi.AlreadyStored); !ok {
				t.Failf("R4.stable", "putting the same %d bytes again answered %s", size, harness.Describe(res))
			}
		}
	}
}

func relocationResult(t *harness.T) {
	r := t.Relocation()
	var held []heldResult
	hold := func(ref spi.Reference, want []byte) {
		what := fmt.Sprintf("read %d of %s", len(held)+1, ref)
		res, recheck, err := r.ReadHeld(t.Context(), ref)
		f, ok := res.(spi.BlobFound)
		if err != nil || !ok {
			t.Fatalf("R4.stable", "%s answered %s, error %v", what, harness.Describe(res), err)
		}
		t.EqualBytes("R4.stable", "the result of "+what, want, f.Bytes)
		held = append(held, heldResult{what, want, recheck})
	}
	for i, size := range bufferSizes {
		a, b := spi.Reference(fmt.Sprint("a", i)), spi.Reference(fmt.Sprint("b", i))
		first, second := patterned(size, 1), patterned(size, 2)
		r.MustStore(a, first, hour)
		r.MustStore(b, second, hour)
		hold(a, first)
		hold(b, second)
		hold(a, first)
		r.MustPut(a, second, hour)
		r.MustRenew(a, day)
		hold(a, first)
		r.MustDelete(a)
		r.MustMiss(a)
		hold(b, second)
	}
	checkHeld(t, "R4.stable", held)
}
