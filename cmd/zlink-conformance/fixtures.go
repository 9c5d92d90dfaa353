package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/zlink-systems/zlink-conformance/fixtures"
	"github.com/zlink-systems/zlink-conformance/internal/redisenv"
	"github.com/zlink-systems/zlink-conformance/internal/result"
	"github.com/zlink-systems/zlink-conformance/reports"
)

func newFixtures() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fixtures",
		Short: "Generate or verify the golden fixture " + fixtures.Name,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return usage("fixtures needs a command: generate or verify")
		},
	}
	cmd.AddCommand(newFixturesGenerate(), newFixturesVerify())
	return cmd
}

func newFixturesGenerate() *cobra.Command {
	var check bool
	var path string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Write the fixture to stdout or to a file, or check a file against its source",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkFileFlags(cmd, "output"); err != nil {
				return err
			}
			switch {
			case check:
				if path == "" {
					path = inCheckout()
				}
				data, err := fixture(path)
				if err != nil {
					return err
				}
				if err := fixtures.Check(data); err != nil {
					return &exit{result.ExitNonconform, fmt.Errorf("%s %w", fixtureName(path), err)}
				}
				return printed(fmt.Fprintf(cmd.OutOrStdout(), "%s is what its source says\n", fixtureName(path)))
			case path != "":
				if err := reports.WriteFile(path, writeFixture); err != nil {
					return trouble(err)
				}
				return nil
			}
			return printed(0, writeFixture(cmd.OutOrStdout()))
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing: exit status 1 if the file differs (without -o: fixtures/"+fixtures.Name+" of the checkout, else the built-in one)")
	cmd.Flags().StringVarP(&path, "output", "o", "", "the file")
	return cmd
}

// inCheckout is the fixture's file in the checkout of this project that the
// working directory lies in, or "" outside of one.
func inCheckout() string {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, "fixtures", fixtures.Name)
		module, noModule := os.ReadFile(filepath.Join(dir, "go.mod"))
		if _, noFile := os.Stat(path); noModule == nil && noFile == nil && bytes.HasPrefix(module, []byte("module "+modulePath+"\n")) {
			return path
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return ""
}

// modulePath is in the go.mod of a checkout of this project.
const modulePath = "github.com/zlink-systems/zlink-conformance"

func writeFixture(w io.Writer) error {
	_, err := w.Write(fixtures.Generate())
	return err
}

func newFixturesVerify() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "verify [FILE]",
		Short: "Compute each vector of a fixture (default: the built-in one) again by other means",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				if path = args[0]; path == "" {
					return usage("the name of the file is empty")
				}
			}
			if cmd.Flags().Changed("redis") && address == "" {
				return usage("--redis \"\": use auto, docker, local or a URL such as redis://host:6379/0")
			}
			data, err := fixture(path)
			if err != nil {
				return err
			}
			return verifyFixture(cmd.Context(), cmd.OutOrStdout(), fixtureName(path), data, address)
		},
	}
	cmd.Flags().StringVar(&address, "redis", "", "a Redis whose Lua encodes the vectors too: auto, docker, local or a URL")
	return cmd
}

// fixture reads the file, or returns the built-in fixture for "".
func fixture(path string) ([]byte, error) {
	if path == "" {
		return fixtures.Embedded(), nil
	}
	data, err := readInput(path)
	if err != nil {
		return nil, usage("%w", err)
	}
	return data, nil
}

func fixtureName(path string) string {
	if path == "" {
		return "the built-in " + fixtures.Name
	}
	return path
}

func verifyFixture(ctx context.Context, w io.Writer, name string, data []byte, address string) error {
	var client redis.Cmdable
	if address != "" {
		env, err := redisenv.Start(ctx, redisenv.Options{Mode: address})
		if err != nil {
			return trouble(err)
		}
		defer env.Close()
		c := redis.NewClient(env.Main().Options())
		defer c.Close()
		client = c
	}
	found, err := fixtures.Verify(ctx, data, client)
	if err != nil {
		return trouble(err)
	}
	for _, vector := range found.Unknown {
		if err := printed(fmt.Fprintf(w, "%s is unknown here: computed as far as its form is known, compared with nothing\n", vector)); err != nil {
			return err
		}
	}
	for _, d := range found.Differences {
		if err := printed(fmt.Fprintln(w, d)); err != nil {
			return err
		}
	}
	if n := len(found.Differences); n > 0 {
		return &exit{result.ExitNonconform, fmt.Errorf("%s is wrong: number of differences: %d", name, n)}
	}
	return printed(fmt.Fprintf(w, "%s is right\n", name))
}
