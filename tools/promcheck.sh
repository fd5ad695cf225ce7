#!/usr/bin/env bash
# Checks what is under deploy/prometheus and deploy/alertmanager with their own
# programs: configuration, rules, and the tests that each alert fires, does not
# fire, and resolves. Needs bin/prometheus (tools/prometheus.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/bin/prometheus

# quiet CHECK... shows what a check says only when it fails.
quiet() {
    local out
    out=$("$@" 2>&1) || { echo "$out"; echo "promcheck.sh: failed: ${*##*/}" >&2; return 1; }
}

quiet "$tools/promtool" check config deploy/prometheus/prometheus.yml
quiet "$tools/promtool" check rules --lint-fatal deploy/prometheus/rules/*.yml deploy/prometheus/alerts/*.yml
quiet "$tools/promtool" test rules deploy/prometheus/tests/*.yml
quiet "$tools/amtool" check-config deploy/alertmanager/alertmanager.yml
echo "$(cat deploy/prometheus/alerts/*.yml | grep -c "^ *- alert:") alerts: each fires, does not fire, and resolves"
