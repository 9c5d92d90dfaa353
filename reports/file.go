package reports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a report to a path: parent folders are made, and a file is
// replaced in one step, so that a reader never sees half of one. The error
// names the path.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := writeFile(path, write); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, cause(err))
	}
	return nil
}

// Writable reports, before a run, why a report could not be written to the
// path; nil if it could. Parent folders are made.
func Writable(path string) error {
	err := writable(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w; choose another path", path, cause(err))
	}
	return nil
}

func writable(path string) error {
	place, special, err := resolve(path)
	if err != nil {
		return err
	}
	if special {
		info, err := os.Stat(place)
		if err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil // to open it would wait for a reader, and to close it end the reader
		}
		f, err := os.OpenFile(place, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	f, err := temp(place)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	place, special, err := resolve(path)
	if err != nil {
		return err
	}
	if special {
		f, err := os.OpenFile(place, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(buffered(f, write), f.Close())
	}
	f, err := temp(place)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := buffered(f, write); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(f.Name(), place)
}

// resolve follows links and tells whether the path is something that must be
// written in place, such as a device or a pipe.
func resolve(path string) (place string, special bool, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, false, nil
	case err != nil:
		return "", false, err
	case info.IsDir():
		return "", false, errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return path, true, nil
	}
	place, err = filepath.EvalSymlinks(path)
	return place, false, err
}

func temp(path string) (*os.File, error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "."+filepath.Base(path)+".*")
}

func buffered(f *os.File, write func(io.Writer) error) error {
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		return err
	}
	return b.Flush()
}

// cause drops the operation and the temporary name from a file error.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
