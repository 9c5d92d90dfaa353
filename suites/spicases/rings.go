package spicases

import (
	"fmt"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// ringCases: buffers that a provider uses again only after some operations, or
// only for what is large.
func ringCases() []harness.Case {
	return []harness.Case{
		locationCase("buffers/location-ring", "The bytes of 160 reads, small and of up to 1 MiB, do not change while "+
			"hundreds of operations follow.",
			"L3.result-stable", locationRing),
		relocationCase("buffers/relocation-ring",
			"The bytes of 160 reads, small and of up to 1 MiB, do not change while hundreds of operations follow.",
			"R4.stable", relocationRing),
		locationCase("buffers/location-crowd", "Values that eight writers put at once are each what their writer put, "+
			"whatever becomes of its buffers.",
			"L6.input-bytes L4.put", locationCrowd),
		relocationCase("buffers/relocation-crowd",
			"Payloads that eight writers put at once are each what their writer put, whatever becomes of its buffers.",
			"R4.stable R4.put", relocationCrowd),
	}
}

// ringSizes are of results in a row: many small ones, and on both sides of
// where a provider may begin to pool.
func ringSizes() []int {
	var sizes []int
	for i := range 144 {
		sizes = append(sizes, 100+i)
	}
	for range 4 {
		sizes = append(sizes, 64<<10-1, 64<<10, 100_000, 1<<20)
	}
	return sizes
}

func locationRing(t *harness.T) {
	l := t.Location()
	var held []heldResult
	for i, size := range ringSizes() {
		key, want := spi.Key(fmt.Sprint("k", i)), patterned(size, byte(i))
		l.MustPut(key, want, nil)
		r, recheck, err := l.ReadHeld(t.Context(), key)
		if f, ok := r.(spi.Found); err != nil || !ok {
			t.Fatalf("L3.result-stable", "reading %s answered %s, error %v", key, harness.Describe(r), err)
		} else {
			t.EqualBytes("L3.result-stable", "the result of reading "+string(key), want, f.Value.Bytes)
		}
		held = append(held, heldResult{fmt.Sprintf("read %d, %d bytes,", i+1, size), want, recheck})
	}
	for i, size := range ringSizes() { // the last ones held meet as many operations as the first
		key := spi.Key(fmt.Sprint("k", i))
		l.MustPut(key, patterned(size, byte(i+100)), nil)
		l.MustFind(key)
	}
	l.MustScan("k", 100)
	checkHeld(t, "L3.result-stable", held)
}

func relocationRing(t *harness.T) {
	r := t.Relocation()
	var held []heldResult
	for i, size := range ringSizes() {
		ref, want := spi.Reference(fmt.Sprint("r", i)), patterned(size, byte(i))
		r.MustStore(ref, want, hour)
		res, recheck, err := r.ReadHeld(t.Context(), ref)
		if f, ok := res.(spi.BlobFound); err != nil || !ok {
			t.Fatalf("R4.stable", "reading %s answered %s, error %v", ref, harness.Describe(res), err)
		} else {
			t.EqualBytes("R4.stable", "the result of reading "+string(ref), want, f.Bytes)
		}
		held = append(held, heldResult{fmt.Sprintf("read %d, %d bytes,", i+1, size), want, recheck})
	}
	for i, size := range ringSizes() {
		ref := spi.Reference(fmt.Sprint("later", i))
		r.MustStore(ref, patterned(size, byte(i+100)), hour)
		r.MustFind(ref)
		r.MustDelete(ref)
	}
	checkHeld(t, "R4.stable", held)
}

// crowd runs f for eight writers at once, each with a content of its own.
func crowd(t *harness.T, f func(name string, content []byte)) {
	t.Concurrently(8, func(writer int) {
		for round, size := range []int{10, 64, 5000, 70_000, 200_000, 70_000, 5000, 10} {
			f(fmt.Sprintf("writer %d, round %d", writer, round), patterned(size, byte(writer*31+round)))
		}
	})
}

func locationCrowd(t *harness.T) {
	l := t.Location()
	crowd(t, func(name string, content []byte) {
		l.MustPut(spi.Key(name), content, nil)
		t.EqualBytes("L6.input-bytes", "the value of "+name, content, l.MustFind(spi.Key(name)).Value.Bytes)
	})
	crowd(t, func(name string, content []byte) {
		t.EqualBytes("L6.input-bytes", "the value of "+name+" in the end", content, l.MustFind(spi.Key(name)).Value.Bytes)
	})
}

func relocationCrowd(t *harness.T) {
	r := t.Relocation()
	crowd(t, func(name string, content []byte) {
		r.MustStore(spi.Reference(name), content, hour)
		t.EqualBytes("R4.stable", "the payload of "+name, content, r.MustFind(spi.Reference(name)).Bytes)
	})
	crowd(t, func(name string, content []byte) {
		t.EqualBytes("R4.stable", "the payload of "+name+" in the end", content, r.MustFind(spi.Reference(name)).Bytes)
	})
}
