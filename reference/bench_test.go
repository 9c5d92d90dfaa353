package reference_test

import (
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func BenchmarkGreatestBatch(b *testing.B) {
	f := start(b, redistest.Start(b))
	var mutations []spi.Mutation
	for i := range spi.MaxBatchKeys {
		mutations = append(mutations, spi.Put{Key: numbered("k", i), Bytes: []byte("value")})
	}
	for b.Loop() {
		f.apply(mutations...)
	}
}

func BenchmarkPut(b *testing.B) {
	f := start(b, redistest.Start(b))
	for b.Loop() {
		f.put("k", "value")
	}
}

func BenchmarkScanThousand(b *testing.B) {
	f := start(b, redistest.Start(b))
	var mutations []spi.Mutation
	for i := range 1000 {
		mutations = append(mutations, spi.Put{Key: numbered("k", i), Bytes: []byte("value")})
	}
	f.apply(mutations...)
	for b.Loop() {
		f.scanAll("k", 1000)
	}
}
