package main

import (
	"os"
	"testing"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
	"github.com/zlink-systems/zlink-conformance/internal/targets/protocol"
)

// TestMain makes the test binary the adapter where the harness starts it.
func TestMain(m *testing.M) {
	if os.Getenv(protocol.EnvVersion) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestExampleStartsAndEnds(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	adapter, err := process.Start(t.Context(), []string{self}, process.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info := adapter.Info(); info.Provider != "example" || !info.Offers(targets.StoreLocation) ||
		!info.Offers(targets.StoreRelocation) {
		t.Errorf("hello said %+v", info)
	}
	if err := adapter.Close(); err != nil {
		t.Error(err)
	}
}
