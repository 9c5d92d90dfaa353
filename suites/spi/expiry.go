package spi

import "github.com/zlink-systems/zlink-conformance/harness"

func expiryCases() []harness.Case { return nil }
