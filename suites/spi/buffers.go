package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func bufferCases() []harness.Case { return nil }
