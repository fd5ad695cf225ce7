#!/usr/bin/env bash
# Runs every benchmark beside its peers and prints the tables:
#
#     tools/bench.sh        COUNT=7 BENCHTIME=300ms BENCH=. by default
#
# All variants run once, then all once more, COUNT times: what else the machine
# does in the meantime meets ours and its peers alike. The raw output stays in
# bin/bench.txt. Needs bin/benchtable.
set -euo pipefail
cd "$(dirname "$0")/.."
count=${COUNT:-7} benchtime=${BENCHTIME:-300ms} pattern=${BENCH:-.}

# measure runs the packages whose tests have benchmarks; a service may have
# none yet.
measure() {
    local packages
    mapfile -t packages < <(grep -rl --include='*_test.go' '^func Benchmark' "$@" | xargs -r -n1 dirname | sort -u | sed 's,^,./,')
    ((${#packages[@]} == 0)) || go test -run '^$' -bench "$pattern" -benchmem -benchtime "$benchtime" "${packages[@]}"
}

echo "machine: $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg), $(go env GOVERSION), $(date -u +%F)"
for ((i = 1; i <= count; i++)); do
    echo "run $i of $count" >&2
    (cd kit/bench && GOWORK=off measure .)
    for service in services/*/; do
        measure "${service%/}"
    done
done >bin/bench.txt
bin/benchtable <bin/bench.txt
