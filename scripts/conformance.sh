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
images=${ZLINK_CONFORMANCE_TEST_IMAGE:-}
valkey=${ZLINK_CONFORMANCE_VALKEY_IMAGE:-}
if [ -n "$images" ] && [ -n "$valkey" ] && docker image inspect "$valkey" >/dev/null 2>&1; then
	images=$images,$valkey
fi
if [ -n "$images" ]; then
	run --redis docker --redis-image "$images"
else
	echo "conformance: no container run: ZLINK_CONFORMANCE_TEST_IMAGE names no image"
fi
