package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func valueCases() []harness.Case { return nil }
