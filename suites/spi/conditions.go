package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func conditionCases() []harness.Case { return nil }
