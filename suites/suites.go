// Package suites lists the cases of all suites.
package suites

import (
	"slices"

	"github.com/zlink-systems/zlink-conformance/harness"
	"github.com/zlink-systems/zlink-conformance/suites/counter"
	"github.com/zlink-systems/zlink-conformance/suites/interop"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/payload"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout"
	"github.com/zlink-systems/zlink-conformance/suites/resilience"
	"github.com/zlink-systems/zlink-conformance/suites/spi"
)

// All returns every case, suite by suite.
func All() []harness.Case { return With(model.Options{}) }

// With is All with options of the model suite.
func With(m model.Options) []harness.Case {
	return slices.Concat(
		spi.Cases(),
		redislayout.Cases(),
		interop.Cases(),
		counter.Cases(),
		payload.Cases(),
		resilience.Cases(),
		model.Cases(m),
	)
}
