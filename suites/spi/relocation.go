package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func relocationCases() []harness.Case { return nil }
