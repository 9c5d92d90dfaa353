#!/bin/sh
# The reference must conform through every path that this machine has, else the judge or the reference is wrong.
#   conformance.sh BINARY
set -eu
bin=$1

run() {
	echo "conformance: $*"
	"$bin" run "$@"
}

run --redis local
run --redis local --target "$bin adapter"
run --redis local --topology cluster
if [ -n "${ZLINK_CONFORMANCE_TEST_IMAGE:-}" ]; then
	run --redis docker --redis-image "$ZLINK_CONFORMANCE_TEST_IMAGE"
else
	echo "conformance: no container run: ZLINK_CONFORMANCE_TEST_IMAGE names no image"
fi
