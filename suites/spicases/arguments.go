package spicases

import (
	"context"
	"fmt"
	"strings"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Texts that break a bound of bytes, two of them with fewer characters than
// the bound has bytes. surrogate is half of a UTF-16 pair, which no UTF-8 holds.
var (
	longKey       = strings.Repeat("k", spi.MaxKeyBytes+1)
	wideKey       = strings.Repeat("\u20ac", spi.MaxKeyBytes/3+1) // 342 characters, 1026 bytes
	longReference = strings.Repeat("r", spi.MaxReferenceBytes+1)
	wideReference = strings.Repeat("\u20ac", spi.MaxReferenceBytes/3+1) // 1366 characters, 4098 bytes
)

const surrogate = "a\xed\xa0\x80b"

func argumentCases() []harness.Case {
	const quiet = " is an argument error, sends nothing to Redis, and nothing is written."
	location := func(slug, what, requirements string, table func(*harness.T) []attempt[*harness.Location],
		needs ...harness.Need) harness.Case {
		return locationCase("arguments/location-"+slug, what+quiet, "L6.argument-error "+requirements,
			func(t *harness.T) { refuseLocation(t, table(t)) }, needs...)
	}
	relocation := func(slug, what, requirements string, table func(*harness.T) []attempt[*harness.Relocation]) harness.Case {
		return relocationCase("arguments/relocation-"+slug, what+quiet, "R5.argument-error "+requirements,
			func(t *harness.T) { refuseRelocation(t, table(t)) })
	}
	return []harness.Case{
		location("keys", "An empty key or one of more than 1024 bytes", "L3.key-length", badKeys("", longKey, wideKey)),
		location("key-text", "A key with an unpaired surrogate", "L3.key-utf8", badKeys(surrogate)),
		location("value", "A value of 1 MiB + 1 byte", "L3.value-size", badValues),
		location("value-condition", "A Value condition with 1 MiB + 1 byte", "L4.value", badValueConditions,
			targets.CapValueCondition),
		location("batch", "A batch with a key twice, more than 2,048 keys or more than 4 MiB",
			"L4.duplicates L4.key-bound L4.byte-bound", badBatches),
		location("retention", "A retention of zero or less", "L4.retention", badRetentions),
		location("scan", "A scan prefix of more than 1024 bytes or a limit of 0 or 1001", "L5.prefix L5.limit", badScans),
		location("scan-negative", "A negative scan limit", "L5.limit", negativeScans),
		relocation("references", "An empty reference or one of more than 4096 bytes", "R3.reference",
			badReferences("R3.reference", "", longReference, wideReference)),
		relocation("reference-text", "A reference with an unpaired surrogate", "R3.reference-utf8",
			badReferences("R3.reference-utf8", surrogate)),
		relocationCase("arguments/relocation-reference-replaced",
			"A reference that is no UTF-8 reaches no payload of another reference.",
			"R3.reference-utf8", replacedReference),
		relocation("retention", "A retention of zero or less in Put and Renew", "R4.retention", badBlobRetentions),
		locationCase("cancelled/location", "An operation with a token cancelled beforehand ends as cancelled, sends nothing "+
			"to Redis and changes nothing.",
			"L6.cancel-before", cancelledLocation, targets.CapCancellation),
		relocationCase("cancelled/relocation", "An operation with a token cancelled beforehand ends as cancelled, sends "+
			"nothing to Redis and changes nothing.",
			"R5.cancel-before", cancelledRelocation, targets.CapCancellation),
	}
}

// attempt is an operation that must be refused before any I/O.
type attempt[S any] struct {
	what        string
	requirement string
	try         func(S) error
}

func refuseLocation(t *harness.T, table []attempt[*harness.Location]) {
	p := t.Proxy(nil)
	l := t.Target().OpenLocation(harness.Store{Proxy: p})
	l.MustPut("kept", []byte("v"), nil)
	before := look(l, "kept")
	refuseQuietly(t, p, l, "L6.argument-error", table)
	after := records{}
	for _, item := range l.MustScan("", 100) {
		after[item.Key] = item.Value
	}
	same(t, "L6.argument-error", "the store after the refused operations", before, after)
}

func refuseRelocation(t *harness.T, table []attempt[*harness.Relocation]) {
	p := t.Proxy(nil)
	r := t.Target().OpenRelocation(harness.Store{Proxy: p})
	_, given := store(t, r, "kept", []byte("v"), hour)
	refuseQuietly(t, p, r, "R5.argument-error", table)
	f := given.find(t, r, "kept", "R5.argument-error", "the expiry after the refused operations")
	t.EqualBytes("R5.argument-error", "the payload after the refused operations", []byte("v"), f.Bytes)
	r.MustMiss("new")
}

// refuseQuietly checks that each attempt is an argument error and that Redis
// sees nothing of it.
func refuseQuietly[S any](t *harness.T, p *redisenv.Proxy, store S, quiet string, table []attempt[S]) {
	for _, a := range table {
		var err error
		sent := sentBy(p, func() { err = a.try(store) })
		// What is not refused breaks the bound, what is refused as something else
		// the rule on arguments.
		requirement := a.requirement
		if err != nil {
			requirement = quiet
		}
		t.ErrorKind(requirement, a.what, err, spi.KindArgument)
		t.Checkf(len(sent) == 0, quiet, "%s sent to Redis: %s", a.what, strings.Join(sent, ", "))
	}
}

// sentBy returns what the attempt sends to Redis each time. A provider may have
// background work of its own, so a quiet one of several tries is enough.
func sentBy(p *redisenv.Proxy, try func()) (sent []string) {
	for range 3 {
		mark := p.Mark()
		try()
		sent = nil
		for _, c := range p.CommandsSince(mark) {
			sent = append(sent, c.Name)
		}
		if len(sent) == 0 {
			return nil
		}
	}
	return sent
}

// short shows a text that may be long.
func short(s string) string {
	if len(s) > 20 {
		return fmt.Sprintf("of %d bytes", len(s))
	}
	return fmt.Sprintf("%+q", s)
}

func badKeys(keys ...string) func(*harness.T) []attempt[*harness.Location] {
	return func(t *harness.T) (table []attempt[*harness.Location]) {
		requirement := "L3.key-length"
		for _, text := range keys {
			if text == surrogate {
				requirement = "L3.key-utf8"
			}
			key := spi.Key(text)
			table = append(table, attempt[*harness.Location]{"reading the key " + short(text), requirement,
				func(l *harness.Location) error {
					_, err := l.Read(t.Context(), key)
					return err
				}})
			for what, w := range map[string]spi.WriteRequest{
				"a Put of":                write(nil, put("new", "v"), put(key, "v")),
				"a Delete of":             write(nil, put("new", "v"), del(key)),
				"a Missing condition on":  write(given(ifMissing(key)), put("new", "v")),
				"a Version condition on":  write(given(ifVersion(key, "v")), put("new", "v")),
				"nothing but a Delete of": write(nil, del(key)),
			} {
				table = append(table, tryWrite(t, what+" the key "+short(text), requirement, w))
			}
		}
		return table
	}
}

func tryWrite(t *harness.T, what, requirement string, w spi.WriteRequest) attempt[*harness.Location] {
	return attempt[*harness.Location]{what, requirement, func(l *harness.Location) error {
		_, err := l.Write(t.Context(), w)
		return err
	}}
}

func badValues(t *harness.T) []attempt[*harness.Location] {
	large := strings.Repeat("v", spi.MaxValueBytes+1)
	return []attempt[*harness.Location]{
		tryWrite(t, "a Put of 1 MiB + 1 byte", "L3.value-size", write(nil, put("new", large))),
		tryWrite(t, "a Put of 1 MiB + 1 byte as the second of two", "L3.value-size",
			write(nil, put("first", "v"), put("new", large))),
	}
}

func badValueConditions(t *harness.T) []attempt[*harness.Location] {
	large := make([]byte, spi.MaxValueBytes+1)
	return []attempt[*harness.Location]{
		tryWrite(t, "a Value condition with 1 MiB + 1 byte", "L4.value",
			write(given(ifValue("kept", large)), put("new", "v"))),
	}
}

func badBatches(t *harness.T) []attempt[*harness.Location] {
	missing := ifMissing("new")
	version := ifVersion("new", "v")
	var mutations []spi.Mutation
	for i := range 5 {
		mutations = append(mutations, put(spi.Key(fmt.Sprint("new", i)), strings.Repeat("v", spi.MaxValueBytes)))
	}
	keys := numbered("new", spi.MaxBatchKeys+1)
	half := len(keys) / 2
	return []attempt[*harness.Location]{
		tryWrite(t, "a key in two Missing conditions", "L4.duplicates", write(given(missing, missing), put("new", "v"))),
		tryWrite(t, "a key in a Missing and a Version condition", "L4.duplicates",
			write(given(missing, version), put("new", "v"))),
		tryWrite(t, "a key in two Puts", "L4.duplicates", write(nil, put("new", "v"), put("new", "w"))),
		tryWrite(t, "a key in a Put and a Delete", "L4.duplicates", write(nil, put("new", "v"), del("new"))),
		tryWrite(t, "a key in two Deletes", "L4.duplicates",
			write(nil, put("other", "v"), del("kept"), del("kept"))),
		tryWrite(t, "2,049 Puts", "L4.key-bound", write(nil, putAll(keys, "v")...)),
		tryWrite(t, "2,049 keys in conditions and Puts", "L4.key-bound",
			write(allMissing(keys[:half]), putAll(keys[half:], "v")...)),
		tryWrite(t, "a batch of 5 MiB", "L4.byte-bound", write(nil, mutations...)),
	}
}

func badRetentions(t *harness.T) (table []attempt[*harness.Location]) {
	for _, ms := range []float64{0, -1, -0.5, -hour} {
		what := fmt.Sprintf("a Put with a retention of %v ms", ms)
		table = append(table,
			tryWrite(t, what, "L4.retention", write(nil, putFor("new", "v", ms))),
			tryWrite(t, what+" over a stored value", "L4.retention", write(nil, put("other", "v"), putFor("kept", "w", ms))))
	}
	return table
}

func tryScan(t *harness.T, what, requirement string, request spi.ScanRequest) attempt[*harness.Location] {
	return attempt[*harness.Location]{what, requirement, func(l *harness.Location) error {
		_, err := l.Scan(t.Context(), request)
		return err
	}}
}

func badScans(t *harness.T) []attempt[*harness.Location] {
	return []attempt[*harness.Location]{
		tryScan(t, "a prefix of 1025 bytes", "L5.prefix", spi.ScanRequest{Prefix: longKey, Limit: 10}),
		tryScan(t, "a prefix of 342 characters in 1026 bytes", "L5.prefix", spi.ScanRequest{Prefix: wideKey, Limit: 10}),
		tryScan(t, "a scan limit of 0", "L5.limit", spi.ScanRequest{Limit: 0}),
		tryScan(t, "a scan limit of 1001", "L5.limit", spi.ScanRequest{Limit: spi.MaxScanLimit + 1}),
	}
}

func negativeScans(t *harness.T) []attempt[*harness.Location] {
	return []attempt[*harness.Location]{tryScan(t, "a scan limit of -1", "L5.limit", spi.ScanRequest{Limit: -1})}
}

func badReferences(requirement string, references ...string) func(*harness.T) []attempt[*harness.Relocation] {
	return func(t *harness.T) (table []attempt[*harness.Relocation]) {
		for _, text := range references {
			for what, operation := range blobOperations(t.Context(), spi.Reference(text), hour) {
				table = append(table, attempt[*harness.Relocation]{what + " of the reference " + short(text), requirement,
					operation})
			}
		}
		return table
	}
}

// blobOperations are the four operations on one reference.
func blobOperations(ctx context.Context, ref spi.Reference, retention spi.Retention) map[string]func(*harness.Relocation) error {
	return map[string]func(*harness.Relocation) error{
		"Put":    func(r *harness.Relocation) error { _, err := r.Put(ctx, ref, []byte("p"), retention); return err },
		"Read":   func(r *harness.Relocation) error { _, err := r.Read(ctx, ref); return err },
		"Renew":  func(r *harness.Relocation) error { _, err := r.Renew(ctx, ref, retention); return err },
		"Delete": func(r *harness.Relocation) error { return r.Delete(ctx, ref) },
	}
}

func badBlobRetentions(t *harness.T) (table []attempt[*harness.Relocation]) {
	for _, ms := range []spi.Retention{0, -1, -0.5, -hour} {
		for _, ref := range []spi.Reference{"new", "kept"} {
			operations := blobOperations(t.Context(), ref, ms)
			for _, what := range []string{"Put", "Renew"} {
				table = append(table, attempt[*harness.Relocation]{
					fmt.Sprintf("%s of %q with a retention of %v ms", what, ref, float64(ms)), "R4.retention", operations[what]})
			}
		}
	}
	return table
}
