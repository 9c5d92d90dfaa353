#!/bin/sh
# Puts what is missing on a fresh machine, by the system's package manager, and says so.
#   setup.sh redis   a Redis to test on, if neither a Docker engine nor a server binary is there
#   setup.sh test    what make test needs: a server binary, libfaketime, and the C compiler of Go's race detector
#   setup.sh ci      the same, and what else the tests use where they find it: xmllint, a Docker engine with a local image
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
docker_works() { have docker && docker info >/dev/null 2>&1; }

install() { # install DEBIAN-PACKAGE...
	root=""
	[ "$(id -u)" = 0 ] || root="sudo"
	echo "setup: installing $* with the system's package manager"
	if have apt-get; then
		$root apt-get update -qq >/dev/null && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq "$@" >/dev/null
	elif have dnf; then
		$root dnf install -y -q $(echo "$*" | sed 's/redis-server/redis/; s/faketime/libfaketime/')
	elif have brew; then
		brew install -q $(echo "$*" | sed 's/redis-server/redis/; s/faketime/libfaketime/')
	else
		echo "setup: no apt-get, dnf or brew here; install these yourself: $*" >&2
		exit 1
	fi
}

redis() {
	have redis-server || have valkey-server || docker_works || install redis-server
}

# The tests start servers of their own, which a Docker engine alone can't replace, and move their clocks.
tests() {
	missing=""
	have redis-server || have valkey-server || missing="$missing redis-server"
	have faketime || missing="$missing faketime"
	have "$(${GO:-go} env CC)" || have gcc || missing="$missing gcc"
	# shellcheck disable=SC2086 # a list of packages
	[ -z "$missing" ] || install $missing
}

ci() {
	tests
	missing=""
	have xmllint || missing="$missing libxml2-utils"
	have busybox || missing="$missing busybox-static"
	have dockerd || docker_works || missing="$missing docker.io"
	# shellcheck disable=SC2086 # a list of packages
	[ -z "$missing" ] || install $missing
	if ! docker_works; then
		echo "setup: starting dockerd"
		dockerd >"${TMPDIR:-/tmp}/zlink-conformance-dockerd.log" 2>&1 &
		tries=0
		until docker_works; do
			tries=$((tries + 1))
			[ "$tries" -le 60 ] || {
				echo "setup: dockerd did not start; its log ends:" >&2
				tail -5 "${TMPDIR:-/tmp}/zlink-conformance-dockerd.log" >&2
				exit 1
			}
			sleep 1
		done
	fi
	valkey || echo "setup: no valkey-server to be had here; the tests go without it"
	sh "$(dirname "$0")/redis-image.sh" zlink-conformance-redis:local zlink-conformance-valkey:local
}

# Valkey stands in Debian's backports, for Debian 12, and in newer distributions themselves.
valkey() {
	have valkey-server && return
	have apt-get || return 1
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	if ! apt-cache show valkey-server >/dev/null 2>&1; then
		[ "$codename" = bookworm ] || return 1
		uri=$(apt-get indextargets --format '$(REPO_URI)' 'Release: bookworm' | head -n 1)
		echo "setup: adding $codename-backports to apt's sources"
		echo "deb $uri $codename-backports main" >/etc/apt/sources.list.d/zlink-conformance-backports.list
		apt-get update -qq >/dev/null
	fi
	install valkey-server
}

case "${1:-}" in
redis) redis ;;
test) tests ;;
ci) ci ;;
*) echo "usage: setup.sh redis|test|ci" >&2; exit 2 ;;
esac
