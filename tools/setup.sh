#!/usr/bin/env bash
# Sees to it that this machine has what a make target needs:
#
#     tools/setup.sh [--or-skip] [gcc] [chromium] [engine] [systemd] [qemu] [dbus]
#
# Go is always asked for. What is missing is installed with apt-get, when this
# is Debian or Ubuntu and we are root; else it is listed with the command that
# installs it, and the script exits 1. With --or-skip it then exits 0, unless CI
# is set: it is for tests, which skip what they cannot do on a user's machine.
# It changes nothing when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

need_go() {
    if ! command -v go >/dev/null; then
        echo "Go is missing: version 1.26 or newer, from https://go.dev/dl/" >&2
        exit 1
    fi
    # In this folder, so that a Go which fetches newer toolchains by itself
    # may do so.
    local version
    version=$(go env GOVERSION 2>/dev/null || GOWORK=off GOTOOLCHAIN=local go env GOVERSION)
    if ! [[ $version =~ ^go1\.([0-9]+) ]] || ((BASH_REMATCH[1] < 26)); then
        echo "Go here is ${version#go}: version 1.26 or newer is needed, from https://go.dev/dl/" >&2
        exit 1
    fi
}

# have_* says whether a thing is there; package_* is what Debian calls it.
have_gcc() { command -v gcc >/dev/null && echo '#include <stdlib.h>' | gcc -E - >/dev/null 2>&1; }
package_gcc() { echo "gcc libc6-dev"; }

# The names under which the browser tests look for it.
have_chromium() {
    local name
    for name in chromium chromium-browser google-chrome; do
        command -v "$name" >/dev/null && return 0
    done
    return 1
}
package_chromium() { echo "chromium"; }

# A container engine, its command line, Compose, and what starts an engine apart
# from all else.
have_engine() {
    command -v dockerd >/dev/null && command -v docker >/dev/null && command -v ip >/dev/null && command -v unshare >/dev/null &&
        { docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null; }
}
package_engine() {
    # From Debian 13 on, the command line is a package of its own.
    local cli=
    ! apt-cache show docker-cli >/dev/null 2>&1 || cli=docker-cli
    echo "docker.io docker-compose iptables iproute2 util-linux $cli"
}

# Its analyze looks at units where no systemd runs, too.
have_systemd() { command -v systemd-analyze >/dev/null; }
package_systemd() { echo "systemd"; }

# Runs programs of other processors.
have_qemu() { command -v qemu-aarch64 >/dev/null || command -v qemu-aarch64-static >/dev/null; }
package_qemu() { echo "qemu-user"; }

# The other buses, the tests that Debian has for them, and clients and services
# of all kinds: what busd is compared with.
have_dbus() {
    local path
    for path in /usr/bin/{dbus-daemon,dbus-broker,dbus-send,dbus-test-tool,gdbus,busctl,pkcheck,xdg-dbus-proxy} \
        /usr/lib/dbus-1.0/installed-tests /usr/share/dbus-1/{system,session}.conf /usr/lib/qt5/bin/qdbus \
        /usr/share/dbus-1/services/{ca.desrt.dconf,org.a11y.Bus}.service /usr/sbin/avahi-daemon /usr/lib/polkit-1/polkitd; do
        [[ -e $path ]] || return 1
    done
    /usr/bin/python3 -c 'import dbus.mainloop.glib, gi' 2>/dev/null
}
package_dbus() {
    echo "dbus dbus-broker dbus-tests dbus-bin libglib2.0-bin systemd xdg-dbus-proxy qdbus-qt5 python3-dbus python3-gi" \
        "dconf-service at-spi2-core avahi-daemon polkitd"
}

missing() {
    local thing
    for thing in "$@"; do
        "have_$thing" || echo "$thing"
    done
}

# give_up ends the script after the message that said what is missing.
give_up() {
    [[ $or_skip && -z ${CI:-} ]] || exit 1
    echo "Without it the tests that need it are skipped." >&2
    exit 0
}

need_go
or_skip=
if [[ ${1:-} == --or-skip ]]; then
    or_skip=1
    shift
fi
for thing in "$@"; do
    declare -F "have_$thing" >/dev/null || { echo "setup.sh: nothing is known about '$thing'" >&2; exit 2; }
done
lacking=$(missing "$@")
[[ -n $lacking ]] || exit 0

packages=()
for thing in $lacking; do
    read -ra names <<<"$("package_$thing")"
    packages+=("${names[@]}")
done
install="apt-get install -y --no-install-recommends ${packages[*]}"

if ! command -v apt-get >/dev/null; then
    echo "Missing: ${lacking//$'\n'/, }. Debian and Ubuntu call the packages: ${packages[*]}." >&2
    give_up
fi
if ((EUID != 0)); then
    printf 'Missing: %s. Install with:\n    sudo apt-get update && sudo %s\n' "${lacking//$'\n'/, }" "$install" >&2
    give_up
fi
echo "installing: ${packages[*]}"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update -q && $install -q; } >"$log" 2>&1 </dev/null; then
    tail -n 30 "$log" >&2
    echo "setup.sh: apt-get failed; by hand: apt-get update && $install" >&2
    give_up
fi
lacking=$(missing "$@")
if [[ -n $lacking ]]; then
    # Ubuntu's chromium is a stub for another package system, for one.
    echo "The packages ${packages[*]} are installed, but there still is no ${lacking//$'\n'/, }: install it by hand." >&2
    give_up
fi
