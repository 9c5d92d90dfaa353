package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func lifetimeCases() []harness.Case { return nil }
