// Command example is a whole adapter of a provider written in Go: the one to
// copy. It serves the reference provider; put yours in its place.
//
//	zlink-conformance run --target 'go run ./adapters/go/example'
package main

import (
	"context"
	"fmt"
	"os"

	adapter "github.com/zlink-systems/zlink-conformance/adapters/go"
	"github.com/zlink-systems/zlink-conformance/adapters/go/goredis"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

func main() {
	if err := adapter.Serve(context.Background(), provider(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err) // stdout carries the protocol alone
		os.Exit(1)
	}
}

func provider() adapter.Provider {
	return adapter.Provider{
		Info: adapter.Info{
			Provider: "example", Language: "go", Version: "1.0.0",
			Stores: []string{adapter.StoreLocation, adapter.StoreRelocation},
			Layout: adapter.LayoutOfficial, // adapter.LayoutNone: the two interfaces are all that it claims
			// What is announced here is judged, what is not is skipped.
			Capabilities: []string{adapter.CapCancellation, adapter.CapTLS, adapter.CapUnixSocket},
		},
		OpenLocation: func(_ context.Context, config adapter.Config) (spi.LocationStore, error) {
			options, err := options(config)
			if err != nil {
				return nil, err
			}
			store, err := reference.OpenLocation(options)
			if err != nil {
				return nil, err
			}
			return store, nil
		},
		OpenRelocation: func(_ context.Context, config adapter.Config) (spi.RelocationStore, error) {
			options, err := options(config)
			if err != nil {
				return nil, err
			}
			store, err := reference.OpenRelocation(options)
			if err != nil {
				return nil, err
			}
			return store, nil
		},
	}
}

func options(config adapter.Config) (reference.Options, error) {
	redis, err := goredis.Options(config.Redis)
	return reference.Options{Redis: redis, KeyPrefix: config.KeyPrefix, OperationTimeout: config.OperationTimeout}, err
}
