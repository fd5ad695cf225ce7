#!/usr/bin/env bash
# Fuzzes every FuzzX of the workspace, one after the other:
#
#     tools/fuzz.sh         FUZZTIME=30s FUZZ=. by default
#
# Their seeds run in every `go test`; this looks for inputs that nobody thought
# of. A failing input is written to the package's testdata/fuzz: keep it.
set -euo pipefail
cd "$(dirname "$0")/.."

found=0
while IFS=: read -r file func; do
    name=${func#func }
    [[ $name =~ ${FUZZ:-.} ]] || continue
    found=$((found + 1))
    echo "== $(dirname "$file") $name"
    go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-30s}" "./$(dirname "$file")"
done < <(grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' kit services sim e2e cmd | sort)
if ((found == 0)); then
    echo "no fuzz test matches" >&2
    exit 1
fi
