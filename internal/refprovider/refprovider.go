// Package refprovider is the reference as a provider under test.
package refprovider

import (
	"context"
	"runtime/debug"

	"github.com/zlink-systems/zlink-conformance/adapters/go/goredis"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/reference"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// New is the reference provider.
func New() targets.Provider {
	return With(func(o reference.Options) reference.Options { return o })
}

// With is the reference provider, its stores opened with changed
// options.
func With(change func(reference.Options) reference.Options) targets.Provider {
	return targets.Provider{
		Info: targets.Info{
			Provider: "reference", Language: "go", Version: moduleVersion(),
			Stores: []string{targets.StoreLocation, targets.StoreRelocation},
			Layout: targets.LayoutOfficial,
			Capabilities: []string{targets.CapCancellation, targets.CapValueCondition, targets.CapSharedConnection,
				targets.CapSurface, targets.CapUnixSocket, targets.CapTLS},
		},
		OpenLocation: func(_ context.Context, config targets.StoreConfig) (spi.LocationStore, error) {
			options, err := Options(config)
			if err != nil {
				return nil, err
			}
			store, err := reference.OpenLocation(change(options))
			if err != nil {
				return nil, err
			}
			return store, nil
		},
		OpenRelocation: func(_ context.Context, config targets.StoreConfig) (spi.RelocationStore, error) {
			options, err := Options(config)
			if err != nil {
				return nil, err
			}
			store, err := reference.OpenRelocation(change(options))
			if err != nil {
				return nil, err
			}
			return store, nil
		},
		Surface: func() []string {
			return []string{"DefaultOperationTimeout", "Location", "OpenLocation", "OpenRelocation", "Options", "Relocation",
				"Store"}
		},
	}
}

// Options is the config as the reference provider takes it. Errors
// are argument errors.
func Options(config targets.StoreConfig) (reference.Options, error) {
	options := reference.Options{KeyPrefix: config.KeyPrefix, OperationTimeout: config.OperationTimeout}
	if config.Share != nil {
		shared, ok := config.Share.(reference.Store)
		if !ok {
			return options, targets.Unsupported("the store to share a connection with is not of the reference provider")
		}
		options.Share = shared
		return options, nil
	}
	r, err := goredis.Options(config.Redis)
	options.Redis = r
	return options, err
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
