package resilience

import (
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// silentForGoodCases: connections that nobody ever answers or ends, as behind a
// peer that vanished, while new connections work.
func silentForGoodCases(requirements func(*kind) string) []harness.Case {
	return slices.Concat(
		eachKind("recovery/first-connect-silent-for-good",
			"A %s whose first attempt to connect is never answered nor refused connects anew.", requirements,
			func(t *harness.T, k *kind) {
				firstConnectFails(t, k, breakdownOf("silent-at-connect"), (*wiring).disarm)
			}),
		eachKind("recovery/connect-silent-for-good",
			"A %s that lost its connection, and of which the attempt to connect again is never answered nor "+
				"refused, connects anew.", requirements,
			func(t *harness.T, k *kind) { leftSilent(t, k, breakdownOf("silent-at-connect")) }),
		eachKind("recovery/connection-silent-for-good",
			"A %s gives a connection up on which nothing answers any more, and works on a new one.", requirements,
			func(t *harness.T, k *kind) { leftSilent(t, k, breakdownOf("silent")) }))
}

// leftSilent ends the fault and leaves the connections that it met as they are:
// open, and silent for ever.
func leftSilent(t *harness.T, k *kind, b breakdown) {
	w := open(t, k, failingTimeout)
	w.warm()
	b.begin(w.proxy)
	what := "an operation of a " + k.title + " " + b.title
	for range 2 {
		t.Concurrently(8, func(int) { // so that all connections of a provider meet the fault
			var err error
			if w.bounded(k.timeout, what, failingTimeout+endLimit, func() { err = w.ping() }) && err != nil {
				t.ErrorKind(k.class, what, err, spi.KindStoreFailure, spi.KindTimeout)
			}
		})
	}
	w.disarm()
	w.works("after operations " + b.title + ", whose connections stay silent for ever")
}
