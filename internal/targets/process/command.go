package process

import (
	"fmt"

	"github.com/kballard/go-shellquote"
)

// ParseCommand splits a command line into words as a POSIX shell does, without
// running one: quotes and backslashes work, variables and globs are left as
// they are.
func ParseCommand(line string) ([]string, error) {
	words, err := shellquote.Split(line)
	if err != nil {
		return nil, fmt.Errorf("the target's command %q cannot be split into words (%v): check its quotes and backslashes", line,
			err)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("the target's command is empty: give the command that starts the adapter")
	}
	return words, nil
}
