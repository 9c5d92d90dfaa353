package model

import (
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

const (
	clients   = 6
	eachDoes  = 25               // operations of one client
	checkTime = 15 * time.Second // for the check of a history
	lostFor   = 2                // clients whose connections lose replies
)

// races is the table of the cases that check concurrent histories. The first
// requirement is the one that a history breaks.
var races = []struct {
	slug, title, requirements string
	needs                     []harness.Need
	reference, grouped, lossy bool
}{
	{"registers", "Reads and conditional batches of six clients on single keys are as if they came one after the other",
		"L4.version L4.missing L3.version-fresh L4.applied L6.closed-results", locationNeeds, false, false, false},
	{"batches", "Batches on two keys, reads and scans of six clients are as if they came one after the other",
		"L4.isolation L4.all-or-nothing L5.snapshot L3.version-fresh L4.applied L6.closed-results", locationNeeds, false, true,
		false},
	{"lost-replies", "A batch whose reply is lost is applied once or not at all, and the client is not told either",
		"L6.unknown-outcome L6.reconstruct L6.recover L3.version-fresh L4.applied L6.closed-results", locationNeeds, false, false,
		true},
	{"with-reference", "Batches, reads and scans of clients of the target and of the reference are as if they " +
		"came one after the other",
		"L9.interop-read L9.interop-snapshot L4.isolation L3.version-fresh L4.applied L6.closed-results",
		[]harness.Need{harness.NeedLayout, harness.NeedLocation}, true, true, false},
}

func concurrencyCases() []harness.Case {
	var cases []harness.Case
	for _, r := range races {
		requirements := strings.Fields(r.requirements)
		cases = append(cases, harness.Case{
			ID: "model/concurrency/" + r.slug, Title: r.title + ".", Requirements: requirements, Needs: r.needs,
			Run: func(t *harness.T) {
				h, scans := newHistory(), make(chan struct{}, openAtOnce)
				all := make([]*client, clients)
				for i := range all {
					c := &client{t: t, number: i, judged: !r.reference || i%2 == 0, grouped: r.grouped, history: h, scans: scans,
						last: map[spi.Key]spi.Value{}}
					c.rand = rand.New(rand.NewPCG(t.Seed(), uint64(i)))
					provider := t.Target()
					if !c.judged {
						provider = t.Reference()
					}
					var store harness.Store
					if r.lossy && i < lostFor {
						c.proxy = t.Proxy(nil)
						store.Proxy = c.proxy
					}
					c.by, c.store = provider, provider.OpenLocation(store)
					all[i] = c
				}
				t.Concurrently(clients, func(i int) { all[i].work(eachDoes) })
				for i := range registers { // what the batches left behind
					all[clients-1].read(i)
				}
				if r.lossy && !slices.ContainsFunc(all, (*client).lost) {
					t.Skipf("no reply was lost: the target does not connect through the fault proxy")
				}
				h.check(t, requirements[0], !r.grouped)
			},
		})
	}
	return cases
}

// check judges the history. One that can't be decided in time is no verdict.
func (h *history) check(t *harness.T, requirement string, single bool) {
	m := registerModel(single)
	result, info := porcupine.CheckOperationsVerbose(m, h.operations, checkTime)
	switch result {
	case porcupine.Unknown:
		t.Skipf("inconclusive: %d operations could not be put in an order within %v, nor shown to have none", len(h.operations),
			checkTime)
	case porcupine.Illegal:
		t.Artifact("history.html", func(w io.Writer) error { return porcupine.Visualize(m, info, w) })
		t.Notef("the history, by the time of the call:\n%s", strings.Join(h.lines(), "\n"))
		t.Fatalf(requirement, "no order of the %d concurrent operations explains all answers (the history is in the notes)",
			len(h.operations))
	}
}
