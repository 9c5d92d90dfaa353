package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func boundCases() []harness.Case { return nil }
