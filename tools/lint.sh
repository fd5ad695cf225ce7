#!/usr/bin/env bash
# Everything that is checked without running the code. Prints what it does and
# every finding of a check, and goes on to the next check; exits 1 when there
# was one. Needs the tools in bin/ (`make lint` builds them).
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
root=$PWD
failed=()
mapfile -t modules < <(find . -name go.mod -not -path '*/testdata/*' -not -path './bin/*' -not -path './bin/*' -printf '%h\n' | sed 's,^\./,,' | sort)

check() {
    local name=$1 began=$SECONDS
    shift
    echo "-- $name"
    "$@" || failed+=("$name")
    ((SECONDS - began < 10)) || echo "   ($((SECONDS - began)) s)"
}

gofmt_clean() {
    local files
    files=$(gofmt -l .) || return 1
    [[ -z $files ]] || { printf 'run gofmt -w on:\n%s\n' "$files"; return 1; }
}

# In the workspace all its modules at once; the others each alone.
outside=(kit/bench tools)
everywhere() {
    "$@" work || return 1
    local dir
    for dir in "${outside[@]}"; do
        (cd "$dir" && GOWORK=off "$@" ./...) || return 1
    done
}

tidy() {
    local dir bad=0
    for dir in "${modules[@]}"; do
        (cd "$dir" && GOWORK=off go mod tidy -diff) || { echo "run GOWORK=off go mod tidy in $dir"; bad=1; }
    done
    return $bad
}

scripts() {
    local script bad=0
    for script in .ci/run tools/*.sh deploy/*/*.sh; do
        bash -n "$script" || bad=1
    done
    return $bad
}

check gofmt gofmt_clean
check "go vet" everywhere go vet
check staticcheck everywhere "$root/bin/staticcheck"
check boundaries bin/boundaries
check "go mod tidy" tidy
check "known vulnerabilities" bin/vulncheck "${modules[@]}"
check "shell syntax" scripts
check "systemd units" deploy/systemd/check.sh

if ((${#failed[@]})); then
    printf 'lint: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "lint: clean"
