package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func argumentCases() []harness.Case { return nil }
