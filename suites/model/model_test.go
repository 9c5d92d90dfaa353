package model_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/contract"
	"github.com/zlink-systems/zlink-conformance/internal/harness"
	"github.com/zlink-systems/zlink-conformance/internal/redistest"
	"github.com/zlink-systems/zlink-conformance/internal/refprovider"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/suites/model"
	"github.com/zlink-systems/zlink-conformance/suites/suitetest"
)

func TestReferencePasses(t *testing.T) {
	env := redistest.Env(t)
	for range 3 {
		suitetest.Passes(t, env, targets.InProcess(refprovider.New()), model.Cases(model.Options{}))
	}
}

// A long search finds nothing on the reference (20,000 operations here,
// beside as many on the reference in lockstep).
func TestReferencePassesALongSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	env := redistest.Env(t)
	started := time.Now()
	const operations = 4000
	cases := slices.DeleteFunc(model.Cases(model.Options{Operations: operations}), func(c harness.Case) bool {
		return c.Suite() != "model/sequences" || c.ID == "model/sequences/clock" // whose clock takes its time to move
	})
	suitetest.Passes(t, env, targets.InProcess(refprovider.New()), cases)
	t.Logf("%d cases, %.0f operations a second on the target", len(cases),
		float64(operations*len(cases))/time.Since(started).Seconds())
}

// A history that fails leaves its picture and a script that fails its text
// beside the report.
func TestKeepsArtifacts(t *testing.T) {
	env := redistest.Env(t)
	catalogue, err := contract.Load()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	deaf := mutant(t, "batch/no-condition-check").Target()
	harness.Run(t.Context(), harness.Config{
		Cases: model.Cases(model.Options{}), Catalogue: catalogue, Target: deaf, Reference: targets.InProcess(refprovider.New()),
		Env:      env,
		Parallel: 4, Timeout: time.Minute, Artifacts: folder,
	})
	picture, err := os.ReadFile(filepath.Join(folder, "model-concurrency-registers-history.html"))
	if err != nil || !strings.Contains(string(picture), "<html") {
		t.Errorf("the picture: %v, %.100s", err, picture)
	}
	text, err := os.ReadFile(filepath.Join(folder, "model-sequences-location-script.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.ParseScript(string(text)); err != nil {
		t.Errorf("the script: %v\n%s", err, text)
	}
}
