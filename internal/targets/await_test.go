package targets

import (
	"errors"
	"fmt"
	"testing"
)

// The reason of an operation that was given up says so once.
func TestWhyGivenUp(t *testing.T) {
	inner := fmt.Errorf("%w: its time was over", ErrAbandoned)
	for cause, want := range map[error]string{
		fmt.Errorf("%w: %w", ErrAbandoned, inner): "its time was over",
		ErrAbandoned:           "the case was given up",
		errors.New("a signal"): "a signal",
	} {
		if got := whyGivenUp(cause); got != want {
			t.Errorf("%v: got %q, want %q", cause, got, want)
		}
	}
}
