#!/bin/sh
# Builds a small container image around the redis-server of this machine, for tests where no registry can be reached.
# usage: scripts/redis-image.sh [redis-image [valkey-image]]
# With a second name, an image around valkey-server as well, if that is on PATH. An image that exists is kept.
set -eu

redis_image=${1:-zlink-conformance-redis:local}
valkey_image=${2:-}
root=

fail() { echo "redis-image.sh: $*" >&2; exit 1; }
cleanup() { if [ -n "$root" ]; then rm -rf "$root"; fi; }
trap cleanup EXIT
trap 'exit 1' INT TERM

# add FILE DIR copies a program into the image's DIR, with the libraries that it loads.
add() {
    mkdir -p "$root$2"
    cp -L "$1" "$root$2/"
    # A static program loads none, and ldd says so with an error.
    libraries=$(ldd "$1" 2>/dev/null || true)
    echo "$libraries" | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        cp -Ln "$library" "$root$library"
    done
}

# build IMAGE SERVER
build() {
    if docker image inspect "$1" >/dev/null 2>&1; then
        echo "$1 is there"
        return
    fi
    server=$(command -v "$2") || fail "$2 is not on PATH"
    busybox=$(command -v busybox) || fail "busybox is not on PATH (Debian, Ubuntu: apt-get install busybox-static)"
    root=$(mktemp -d)
    mkdir -p "$root/tmp" "$root/etc" "$root/data"
    chmod 1777 "$root/tmp"
    echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
    add "$server" /usr/bin
    add "$busybox" /bin
    for applet in sh cat awk ls grep sleep nc; do ln -s busybox "$root/bin/$applet"; done
    tar -C "$root" -c . | docker import \
        --change 'ENV PATH=/usr/bin:/bin' \
        --change 'EXPOSE 6379' \
        --change 'WORKDIR /data' \
        --change "CMD [\"$2\",\"--protected-mode\",\"no\"]" - "$1" >/dev/null
    rm -rf "$root"
    root=
    echo "$1 built around $("$server" --version)"
}

docker version >/dev/null 2>&1 || fail "no Docker engine answers: start dockerd"
build "$redis_image" redis-server
if [ -n "$valkey_image" ]; then
    if command -v valkey-server >/dev/null; then
        build "$valkey_image" valkey-server
    else
        echo "$valkey_image not built: valkey-server is not on PATH" >&2
    fi
fi
