package spicases

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// compareCases: contents that differ in one place only, where a comparison of a
// part, of text or of a checksum sees no difference.
func compareCases() []harness.Case {
	value := harness.Need(targets.CapValueCondition)
	return []harness.Case{
		locationCase("compare/value-places",
			"A Value condition sees one other byte at the ends, in the middle and on both sides of every "+
				"boundary of a value of 1 MiB.",
			"L4.value", valuePlaces, value),
		locationCase("compare/value-checksums",
			"A Value condition sees differences that leave CRC-32, CRC-32C, Adler-32, MD5 or the text of a value as they are.",
			"L4.value", valueChecksums, value),
		relocationCase("compare/payload-places",
			"A repeated Put sees one other byte at the ends, in the middle and on both sides of every "+
				"boundary of a payload of 2 MiB.",
			"R4.put-compare", payloadPlaces),
		relocationCase("compare/payload-checksums",
			"A repeated Put sees differences that leave CRC-32, CRC-32C, Adler-32, MD5 or the text of a payload as they are.",
			"R4.put-compare", payloadChecksums),
	}
}

// places are where a comparison of a content of the size may begin, end or skip.
func places(t *harness.T, size int) []int {
	at := []int{0, 1, size / 2, size - 2, size - 1}
	for _, boundary := range []int{1 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20} {
		at = append(at, boundary-1, boundary)
	}
	for range 4 {
		at = append(at, t.Rand().IntN(size))
	}
	at = slices.DeleteFunc(at, func(i int) bool { return i >= size })
	slices.Sort(at)
	return slices.Compact(at)
}

// Value holds only while the live bytes are identical.
func valuePlaces(t *harness.T) {
	const size = spi.MaxValueBytes
	l, value := t.Location(), patterned(size, 1)
	l.MustPut("k", value, nil)
	for _, at := range places(t, size) {
		other := bytes.Clone(value)
		other[at] ^= 0x80
		notTheValue(t, l, other, fmt.Sprintf("with another byte at offset %d of %d", at, size))
	}
	l.MustApply(write(given(ifValue("k", value))))
}

func notTheValue(t *harness.T, l *harness.Location, other []byte, what string) {
	r := l.MustWrite(write(given(ifValue("k", other))))
	t.Checkf(isWriteConflict(r), "L4.value", "a condition on the value %s answered %s", what, harness.Describe(r))
}

// sameSums calls see with two contents for each change that leaves a checksum as
// it is: short ones, and long ones in which the change lies beyond 64 KiB. What
// collides at the very start alone stands there.
func sameSums(see func(name string, stored, other []byte)) {
	for _, c := range checksums() {
		for _, size := range []int{len(c.old), 100_000} {
			content := patterned(size, 3)
			if size > len(c.old) && !c.atStart {
				c.at = size - 1000
			}
			see(fmt.Sprintf("of %d bytes that differs %s", size, c.name), c.before(content), c.after(content))
		}
	}
}

func valueChecksums(t *harness.T) {
	l := t.Location()
	sameSums(func(name string, stored, other []byte) {
		l.MustPut("k", stored, nil)
		notTheValue(t, l, other, name)
		l.MustApply(write(given(ifValue("k", stored))))
	})
}

// Put compares the whole payload byte for byte.
func payloadPlaces(t *harness.T) {
	const size = 2 << 20
	r, stored := t.Relocation(), targets.Fill{Length: size, Seed: 1}
	r.MustStoreFill("r", stored, hour)
	payload := stored.Bytes()
	put := func(what string, fill targets.Fill) spi.BlobPutResult {
		res, err := r.PutFill(t.Context(), "r", fill, hour)
		if err != nil {
			t.Fatalf("R4.put-compare", "the payload put again %s failed: %v", what, err)
		}
		return res
	}
	for _, at := range places(t, size) {
		what := fmt.Sprintf("with another byte at offset %d of %d", at, size)
		other := stored
		other.Patch = [][2]int64{{int64(at), int64(payload[at] ^ 0x80)}}
		if res := put(what, other); !isConflict(res) {
			t.Failf("R4.put-compare", "the payload put again %s answered %s", what, harness.Describe(res))
		}
	}
	res := put("as it was", stored)
	_, already := res.(spi.AlreadyStored)
	t.Checkf(already, "R4.put-compare", "the payload put again as it was answered %s", harness.Describe(res))
}

func payloadChecksums(t *harness.T) {
	r := t.Relocation()
	sameSums(func(name string, stored, other []byte) {
		r.MustStore("r", stored, hour)
		if res := r.MustPut("r", other, hour); !isConflict(res) {
			t.Failf("R4.put-compare", "a payload %s from the stored one answered %s", name, harness.Describe(res))
		}
		r.MustDelete("r")
	})
}
