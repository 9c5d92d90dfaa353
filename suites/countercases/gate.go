package countercases

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/reference/counter"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// gateCases: the counter and the record that its value is for (L8.same-batch).
func gateCases() []harness.Case {
	return []harness.Case{
		locationCase("gate/one-commit", "The counter and its record are written by one batch, each with a version "+
			"that holds as a condition.",
			"L8.same-batch", gateOneCommit),
		locationCase("gate/false-condition", "While a condition of the record is false nothing is issued: counter and "+
			"record stay as they are.",
			"L8.same-batch", gateFalseCondition),
		locationCase("gate/lost-race", "An issuer that was overtaken writes no record of the value that it did not get.",
			"L8.same-batch L8.first", gateLostRace),
		locationCase("gate/observed", "Whoever looks, in a scan or a condition-only batch, sees a record for each issued "+
			"value and none besides.",
			"L8.same-batch L4.all-or-nothing", gateObserved),
	}
}

// The counters' keys and those of the records share a prefix, so that one scan
// shows both.
const (
	scanPrefix   = "zlink:v11:"
	recordPrefix = scanPrefix + "record/"
)

func record(v int64) spi.Key { return spi.Key(fmt.Sprint(recordPrefix, v)) }

// newRecords creates a record for each value of the block, which holds it.
func newRecords(b counter.Block) (conditions []spi.Condition, mutations []spi.Mutation) {
	for v := b.First; v <= b.Last; v++ {
		conditions = append(conditions, ifMissing(record(v)))
		mutations = append(mutations, spi.Put{Key: record(v), Bytes: strconv.AppendInt(nil, v, 10)})
	}
	return conditions, mutations
}

func gateOneCommit(t *harness.T) {
	i := targets(t)
	i.must("L8.same-batch", counter.Owner, 1, 1, newRecords)
	i.must("L8.same-batch", counter.Owner, 2, 2, newRecords)
	conditions := given(ifVersion(counter.Owner, stores(t, "L8.same-batch", counter.Owner, "4").Version))
	for v := int64(1); v <= 3; v++ {
		row := t.Location().MustFind(record(v)).Value
		t.EqualBytes("L8.same-batch", fmt.Sprintf("the record of value %d", v), strconv.AppendInt(nil, v, 10), row.Bytes)
		conditions = append(conditions, ifVersion(record(v), row.Version))
	}
	t.Location().MustApply(write(conditions))
}

func gateFalseCondition(t *harness.T) {
	i, taken := targets(t), plant(t, "taken", "old")
	falsities := given(ifMissing("taken"), ifVersion("absent", taken.Version))
	for _, row := range []string{"", "5", "9007199254740993"} {
		var before spi.Value
		if row != "" {
			before = plant(t, counter.Object, row)
		}
		for _, condition := range falsities {
			for _, last := range []bool{false, true} {
				_, err := i.issue(counter.Object, 1, falseGate(condition, last))
				if err != nil && !errors.Is(err, counter.ErrGate) {
					i.fail("L8.same-batch", err, "issuing under the false condition %+v", condition)
				}
				t.Checkf(err != nil, "L8.same-batch", "a value was issued for a record with the false condition %+v", condition)
			}
		}
		if row == "" {
			t.Location().MustMiss(counter.Object)
		} else {
			unchanged(t, "L8.same-batch", counter.Object, before)
		}
		unchanged(t, "L8.same-batch", "taken", taken)
		t.Location().MustMiss("beside")
	}
}

// falseGate is a record of which the condition, its first or its last one, is
// false.
func falseGate(condition spi.Condition, last bool) counter.Gate {
	return func(counter.Block) ([]spi.Condition, []spi.Mutation) {
		conditions := given(condition, ifMissing("beside"))
		if last {
			conditions[0], conditions[1] = conditions[1], conditions[0]
		}
		return conditions, []spi.Mutation{
			put("beside", "new"),
			put("taken", "new"),
		}
	}
}

// gateLostRace lets another instance issue between an issuer's read and its
// write, from a missing row and from a present one.
func gateLostRace(t *harness.T) {
	slow, fast := targets(t), targets(t)
	for _, first := range []int64{1, 3} {
		overtaken := false
		slow.must("L8.same-batch", counter.Owner, 1, first+1, func(b counter.Block) ([]spi.Condition, []spi.Mutation) {
			if !overtaken {
				overtaken = true
				fast.must("L8.first", counter.Owner, 1, first, nil)
			}
			return newRecords(b)
		})
		t.Location().MustMiss(record(first))
		t.EqualBytes("L8.same-batch", "the record of the value that was issued", strconv.AppendInt(nil, first+1, 10),
			t.Location().MustFind(record(first+1)).Value.Bytes)
		stores(t, "L8.first", counter.Owner, strconv.FormatInt(first+2, 10))
	}
}

func gateObserved(t *harness.T) {
	const values = 30
	var over atomic.Bool
	issuing := targets(t)
	t.Concurrently(3, func(i int) {
		if i == 0 {
			defer over.Store(true)
			for v := int64(1); v <= values; v++ {
				issuing.must("L8.same-batch", counter.Object, 1, v, newRecords)
			}
			return
		}
		looking := t.Target().OpenLocation(harness.Store{})
		for again := true; again; again = !over.Load() {
			if i == 1 {
				observeScan(t, looking.MustScan(scanPrefix, 1000))
			} else {
				observeBatch(t, looking)
			}
		}
	})
	observeScan(t, t.Location().MustScan(scanPrefix, 1000))
}

// observeScan checks a snapshot of the counter and its records.
func observeScan(t *harness.T, items []spi.Item) {
	next, records := int64(1), int64(0)
	for _, item := range items {
		switch {
		case item.Key == counter.Object:
			n, ok := counter.Parse(item.Value.Bytes)
			if !ok {
				t.Fatalf("L8.decimal", "a scan shows the counter as %q", item.Value.Bytes)
			}
			next = n
		case strings.HasPrefix(string(item.Key), recordPrefix):
			records++
		}
	}
	if records != next-1 {
		t.Fatalf("L8.same-batch", "a scan shows the counter at %d beside %d records, expected %d", next, records, next-1)
	}
}

// observeBatch checks that the counter as it was read goes with the absence of
// the record of its next value, and the presence of that of its last one.
func observeBatch(t *harness.T, l *harness.Location) {
	found, ok := l.MustRead(counter.Object).(spi.Found)
	if !ok {
		return // nothing was issued yet
	}
	next, _ := counter.Parse(found.Value.Bytes)
	if next > 1 {
		l.MustFind(record(next - 1))
	}
	looked := l.MustWrite(write(given(ifVersion(counter.Object, found.Value.Version), ifMissing(record(next)))))
	if _, conflict := looked.(spi.Conflict); conflict && l.MustFind(counter.Object).Value.Version == found.Value.Version {
		t.Fatalf("L8.same-batch", "the record of value %d is there while the counter still stores %d", next, next)
	}
}
