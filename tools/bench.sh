#!/usr/bin/env bash
# Runs every benchmark beside its peers and prints the tables:
#
#     tools/bench.sh        COUNT=7 BENCHTIME=300ms BENCH=. by default
#
# All variants run once, then all once more, COUNT times: what else the machine
# does in the meantime meets ours and its peers alike. Those of e2e, of all
# programs together, take some minutes: a load lasts BOTD_BENCH_SECONDS, 5 by
# default and 60 for the figures in docs/latency.md. The raw output stays in
# bin/bench.txt. Needs bin/benchtable.
set -euo pipefail
cd "$(dirname "$0")/.."
count=${COUNT:-7} benchtime=${BENCHTIME:-300ms} pattern=${BENCH:-.}

# measure DIR TIME runs the packages under DIR that have a benchmark of the
# pattern, which may be none.
measure() {
    local packages
    mapfile -t packages < <(grep -roE --include='*_test.go' '^func Benchmark[A-Za-z0-9_]*' "$1" | grep -E ":func .*${pattern%%/*}" |
        sed 's,/[^/]*$,,; s,^,./,' | sort -u)
    ((${#packages[@]} == 0)) || go test -run '^$' -bench "$pattern" -benchmem -benchtime "$2" -timeout 60m "${packages[@]}"
}

all() {
    (cd kit/bench && GOWORK=off measure . "$benchtime") || return
    local service
    for service in services/*/; do
        measure "${service%/}" "$benchtime" || return
    done
    measure e2e 1x
}

echo "machine: $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg), $(go env GOVERSION), $(date -u +%F)"
: >bin/bench.txt
for ((i = 1; i <= count; i++)); do
    echo "run $i of $count" >&2
    all >>bin/bench.txt || { tail -n 40 bin/bench.txt >&2; exit 1; }
done
bin/benchtable <bin/bench.txt
