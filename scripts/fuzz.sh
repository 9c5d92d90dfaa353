#!/bin/sh
# Runs every fuzz target of the tree for the given time, one after the other.
set -eu
time=${1:-2m}
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	dir=$(dirname "$file")
	sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/p' "$file" | while read -r target; do
		echo "fuzz: $dir $target for $time"
		${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" </dev/null
	done
done
