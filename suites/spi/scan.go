package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func scanCases() []harness.Case { return nil }
