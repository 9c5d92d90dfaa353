package spicases

import (
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// byteBoundCases: what counts towards the 4 MiB of a request, on both sides of
// the bound, and expected versions that are none.
func byteBoundCases() []harness.Case {
	return []harness.Case{
		locationCase("bounds/bytes-condition-keys-accepted",
			"Keys of conditions, also of keys that are written, apply up to 4 MiB less 64 KiB.",
			"L4.byte-bound", conditionKeysAccepted),
		locationCase("bounds/bytes-condition-keys-refused",
			"Keys of conditions count towards the 4 MiB, and a key that stands in a mutation too counts in both.",
			"L4.byte-bound", conditionKeysRefused),
		locationCase("conditions/version-length",
			"An expected version of no byte, or of more than 4,096, is Conflict or an argument error.",
			"L4.version", func(t *harness.T) { noVersion(t, badLengths) }),
		locationCase("conditions/version-text", "An expected version that is no UTF-8 is Conflict or an argument error.",
			"L4.version", func(t *harness.T) { noVersion(t, badTexts) }),
		locationCase("bounds/bytes-versions",
			"Expected versions of up to 4 MiB less 64 KiB together make a Conflict, and above 4 MiB an argument error.",
			"L4.byte-bound", versionBytes),
	}
}

// wideKeys returns n keys of size bytes each.
func wideKeys(n, size int) []spi.Key { return numbered(strings.Repeat("w", size-4), n) }

// accepted is what a provider takes for certain (L4.byte-bound).
const accepted = spi.MaxBatchBytes - spi.BatchBytesSlack

func conditionKeysAccepted(t *harness.T) {
	l := t.Location()
	const size = accepted / (2 * spi.MaxBatchKeys) // 1,008 bytes, twice for each key
	keys := wideKeys(spi.MaxBatchKeys, size)
	t.Apart(func() { l.MustApply(write(allMissing(keys), putAll(keys, "")...)) })
	t.Apart(func() {
		conditions := allMissing(numbered(strings.Repeat("x", spi.MaxKeyBytes-4), spi.MaxBatchKeys-4))
		l.MustApply(write(conditions, sized(accepted-len(conditions)*spi.MaxKeyBytes)...))
	})
}

func conditionKeysRefused(t *harness.T) {
	const requirement = "L4.byte-bound"
	l := t.Location()
	keys := longKeys(spi.MaxBatchKeys)
	refused(t, requirement, "a batch of 2,048 keys of 1,024 bytes, each in a condition and a Put of one byte", l,
		write(allMissing(keys), putAll(keys, "v")...))
	half := allMissing(keys[:spi.MaxBatchKeys-5])
	refused(t, requirement, "a batch of 4 MiB and one byte, half of it keys of conditions", l,
		write(half, sized(spi.MaxBatchBytes+1-len(half)*spi.MaxKeyBytes)...))
	l.MustMiss(keys[0])
	l.MustMiss("v0")
	if t.Target().Info().Has(targets.CapValueCondition) {
		var conditions []spi.Condition
		for i := range 4 {
			conditions = append(conditions, ifValue(keys[i], make([]byte,
				spi.MaxValueBytes-spi.MaxKeyBytes+1)))
		}
		refused(t, requirement, "a batch of 4 expected values and their keys", l, write(conditions))
	}
}

var (
	badLengths = func(current string) []string {
		return []string{
			"", current + strings.Repeat("v", spi.MaxVersionBytes), strings.Repeat("v", spi.MaxVersionBytes+1),
			strings.Repeat("v", 65_536),
			current + strings.Repeat(" ", spi.MaxVersionBytes), current + strings.Repeat("\x00", spi.MaxVersionBytes),
			strings.Repeat("v", spi.MaxValueBytes),
		}
	}
	badTexts = func(current string) []string {
		return []string{"\xff", current + "\xff", "\x80" + current, current + "\xc3", surrogate, current + "\xed\xa0\x80",
			"\xc0\x80"}
	}
)

// noVersion writes under expected versions that no provider issues: the form
// of a version is 1 to 4,096 bytes of UTF-8 (L3.version-form).
func noVersion(t *harness.T, bad func(current string) []string) {
	const requirement = "L4.version"
	l := t.Location()
	want := seed(l, put("k", "old"))
	for _, version := range bad(string(want["k"].Version)) {
		for _, key := range []spi.Key{"k", "absent"} {
			what := fmt.Sprintf("an expected version %s of the key %s", short(version), key)
			r, err := l.Write(t.Context(), write(given(ifVersion(key, spi.Version(version))), put(key,
				"new"), put("new", "new")))
			if err != nil {
				t.ErrorKind(requirement, what, err, spi.KindArgument)
			} else if _, ok := r.(spi.Conflict); !ok {
				t.Failf(requirement, "%s answered %s", what, harness.Describe(r))
			}
			same(t, requirement, "after "+what, want, look(l, "k", "absent", "new"))
		}
	}
}

func versionBytes(t *harness.T) {
	l := t.Location()
	under := func(n int) spi.WriteRequest {
		conditions := make([]spi.Condition, n)
		for i, key := range numbered("k", n) {
			conditions[i] = ifVersion(key, spi.Version(strings.Repeat("v", spi.MaxVersionBytes)))
		}
		return write(conditions, put("new", "v"))
	}
	t.Apart(func() { l.MustConflict(under((accepted - 4) / (spi.MaxVersionBytes + 5))) })
	refused(t, "L4.byte-bound", "a batch of 4 MiB of expected versions, with their keys", l,
		under(spi.MaxBatchBytes/spi.MaxVersionBytes))
	l.MustMiss("new")
}
