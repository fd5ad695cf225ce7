#!/usr/bin/env bash
# Sees to it that Prometheus' own programs are in bin/prometheus: prometheus,
# promtool and amtool. It takes those of this machine; else it unpacks Debian's
# packages there, installs nothing and starts nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
into=bin/prometheus
programs=(prometheus promtool amtool)

there() {
    local program
    for program in "${programs[@]}"; do
        [[ -x $into/$program ]] || return 1
    done
}

here() {
    local program
    for program in "${programs[@]}"; do
        command -v "$program" >/dev/null || return 1
    done
}

if there; then exit 0; fi
mkdir -p "$into"
if here; then
    for program in "${programs[@]}"; do
        ln -sf "$(command -v "$program")" "$into/$program"
    done
    exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    echo "Prometheus is missing. Put prometheus, promtool (https://prometheus.io/download) and amtool (Alertmanager's) into the PATH." >&2
    exit 1
fi
echo "fetching Debian's packages of Prometheus and Alertmanager"
log=$(mktemp)
packages=$(mktemp -d)
trap 'rm -rf "$log" "$packages"' EXIT
chmod 755 "$packages" # apt-get reads there as another user
fetch() { (cd "$packages" && apt-get download -q prometheus prometheus-alertmanager) >"$log" 2>&1 </dev/null; }
if ! fetch && ! { ((EUID == 0)) && apt-get update -q >"$log" 2>&1 </dev/null && fetch; }; then
    tail -n 20 "$log" >&2
    echo "prometheus.sh: apt-get failed; by hand: apt-get update && apt-get install prometheus prometheus-alertmanager" >&2
    exit 1
fi
for package in "$packages"/*.deb; do
    dpkg -x "$package" "$into/debian"
done
for program in "${programs[@]}"; do
    ln -sf "debian/usr/bin/$program" "$into/$program"
done
