package reference

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var sources embed.FS

// scriptLoader returns a function that reads the script of an operation, the
// fragments that it needs first.
func scriptLoader(rewrite func(script, source string) string) func(name string, fragments ...string) *redis.Script {
	return func(name string, fragments ...string) *redis.Script {
		var source strings.Builder
		for _, part := range append(fragments, name) {
			text, err := sources.ReadFile("scripts/" + part + ".lua")
			if err != nil {
				panic(err) // the file is a part of this binary
			}
			source.Write(text)
		}
		if rewrite == nil {
			return redis.NewScript(source.String())
		}
		return redis.NewScript(rewrite(name, source.String()))
	}
}
