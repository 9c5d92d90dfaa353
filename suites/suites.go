// Package suites lists the cases of all suites.
package suites

import (
	"slices"

	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/suites/countercases"
	"github.com/zlink-systems/zlink-conformance/suites/interop"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/payloadcases"
	"github.com/zlink-systems/zlink-conformance/suites/redislayout"
	"github.com/zlink-systems/zlink-conformance/suites/resilience"
	"github.com/zlink-systems/zlink-conformance/suites/spicases"
)

// All returns every case, suite by suite.
func All() []harness.Case { return With(model.Options{}) }

// With is All with options of the model suite.
func With(m model.Options) []harness.Case {
	return slices.Concat(
		spicases.Cases(),
		redislayout.Cases(),
		interop.Cases(),
		countercases.Cases(),
		payloadcases.Cases(),
		resilience.Cases(),
		model.Cases(m),
	)
}
