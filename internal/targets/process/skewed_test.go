package process_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/internal/targets/process"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Go does not ask the C library for the time, so that this looks at what the
// child was given: libfaketime's offset in the child's own file.
func TestSkewedProcessHasAClockOfItsOwn(t *testing.T) {
	plain := start(t, "serve", process.Options{})
	skewed, err := plain.(targets.Skewer).Skewed(t.Context(), -time.Hour)
	if u := (*redisenv.Unavailable)(nil); errors.As(err, &u) {
		t.Skipf("skipped: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile(`\nFAKETIME_TIMESTAMP_FILE=(.*)\n`)
	environment := func(tt targets.Target) string {
		r, err := openRaw(t, tt).Read(t.Context(), "environment")
		if err != nil {
			t.Fatal(err)
		}
		return string(r.(spi.Found).Value.Bytes)
	}
	if e := environment(plain); strings.Contains(e, "FAKETIME_TIMESTAMP_FILE") {
		t.Error("the target itself runs under a faked clock")
	}
	m := file.FindStringSubmatch(environment(skewed))
	if m == nil {
		t.Fatal("the skewed target's environment names no clock file")
	}
	offset, err := os.ReadFile(m[1])
	if err != nil || string(offset) != "-3600.000\n" {
		t.Errorf("the clock file holds %q, %v", offset, err)
	}
	if err := skewed.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(m[1]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the clock file is still there after Close: %v", err)
	}
}

// A start under another clock has a limit of its own, and what is slower than
// that is unavailable, which is no trouble of the target's.
func TestSkewedProcessMayBeSlowToStart(t *testing.T) {
	plain := start(t, "slow-clock", process.Options{SkewedStartTimeout: 300 * time.Millisecond})
	_, err := plain.(targets.Skewer).Skewed(t.Context(), time.Hour)
	u := (*redisenv.Unavailable)(nil)
	if errors.As(err, &u) && strings.Contains(u.Reason, "needs libfaketime") {
		t.Skipf("skipped: %v", err)
	}
	if !errors.As(err, &u) || !strings.Contains(u.Reason, "did not say hello within") {
		t.Errorf("a target that does not start under libfaketime: %v, want one that is unavailable", err)
	}
}
