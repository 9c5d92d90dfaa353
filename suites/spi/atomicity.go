package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func atomicityCases() []harness.Case { return nil }
