package process

import (
	"strings"
	"testing"
	"time"

	"github.com/zlink-systems/zlink-conformance/internal/targets"
	"github.com/zlink-systems/zlink-conformance/spi"
)

// Each row is what came of operations, one after the other: a store's first
// letter, upper case for an answer, lower case for a long silence, a dot after
// it for a short one.
func TestSilenceIsCounted(t *testing.T) {
	for _, c := range []struct {
		name, operations string
		restarts         int
		lost             string
	}{
		{"answers", "LRLRLR", 0, ""},
		{"two silent", "ll", 0, ""},
		{"three silent", "lll", 1, ""},
		{"an answer in between", "llLll", 0, ""},
		{"given up early", "l.l.l.l.l.l.", 0, ""},
		{"silent for ever", "lllllllll", 2, targets.LostTarget},
		{"silent with either store", "rlrlrl", 1, ""},
		{"an answer between restarts", "lllLlllLlll", 3, ""},
		{"one store alone", "rLrLr", 0, targets.StoreRelocation},
		{"one store, the other answered meanwhile", "LLrrr", 0, targets.StoreRelocation},
		{"one store after a restart", "rrrLrLr", 1, ""},
		{"one store after a restart, later", "rrrrLrLr", 1, targets.StoreRelocation},
		{"an error is an answer", "ll!ll", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, current, restarts, lost := newSilence(), &child{}, 0, ""
			for i, op := range c.operations {
				store := map[rune]string{'l': targets.StoreLocation,
					'r': targets.StoreRelocation}[[]rune(strings.ToLower(string(op)))[0]]
				started, err := time.Now().Add(-time.Minute), error(nil)
				switch {
				case op == '.':
					continue
				case op == '!':
					store, err = targets.StoreLocation, &spi.Error{Kind: spi.KindStoreFailure}
				case op == 'l' || op == 'r':
					err = &targets.TroubleError{What: "given up", Unanswered: true}
				}
				if strings.HasPrefix(c.operations[i+1:], ".") {
					started = time.Now()
				}
				restart, err := s.note(current, store, started, err)
				if restart {
					// What was still under way says nothing of the next child.
					_, _ = s.note(current, store, started, err)
					current = &child{}
					restarts++
				}
				if e, ok := err.(*targets.TroubleError); ok && e.Lost != "" {
					lost = e.Lost
				}
			}
			if restarts != c.restarts || lost != c.lost {
				t.Errorf("%d restarts, lost %q; want %d, %q", restarts, lost, c.restarts, c.lost)
			}
		})
	}
}

func TestASpareProcessIsNoLoss(t *testing.T) {
	s := newSilence()
	s.spare = true
	for range 9 {
		_, err := s.note(&child{}, targets.StoreLocation, time.Now().Add(-time.Minute), &targets.TroubleError{Unanswered: true})
		if e := err.(*targets.TroubleError); e.Lost != "" {
			t.Errorf("lost %q", e.Lost)
		}
	}
}
