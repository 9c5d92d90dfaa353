package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// maxInput bounds a file that the user gives, in bytes: the built-in fixture
// and a long script have less than 1 MiB.
const maxInput = 16 << 20

// readInput reads a regular file of at most maxInput bytes.
func readInput(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", path, fileCause(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("cannot read %s: it is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, fileCause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", path, fileCause(err))
	case len(data) > maxInput:
		return nil, fmt.Errorf("cannot read %s: it has more than %d MiB", path, maxInput>>20)
	}
	return data, nil
}

func fileCause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// checkFileFlags refuses flags that name a file with an empty name, as an unset
// variable of a script makes it, or with "-", which is no way to stdout here.
func checkFileFlags(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		flag := cmd.Flags().Lookup(name)
		switch {
		case flag == nil || !flag.Changed:
		case flag.Value.String() == "":
			return usage("--%s \"\": the name of the file is empty", name)
		case flag.Value.String() == "-":
			return usage("--%s -: it takes a file, not stdout or stdin; for a file of that name write ./-", name)
		}
	}
	return nil
}
