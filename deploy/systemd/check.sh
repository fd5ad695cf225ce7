#!/usr/bin/env bash
# Holds the units in this folder to systemd's own judgement, without starting
# anything: each must be free of findings of `systemd-analyze verify`, alone and
# with its drop-ins, and be exposed by at most 1.5 of 10 by `systemd-analyze
# security`. Without systemd-analyze it says so and is content, but not where CI
# is set.
set -euo pipefail
cd "$(dirname "$0")"
LIMIT=15 # tenths, as --threshold takes them
# A session bus starts the session's programs, which would share its sandbox.
declare -A UNCONFINED=([busd-session.service]=1)

if ! command -v systemd-analyze >/dev/null; then
    echo "There is no systemd-analyze here, so the units are NOT checked. Debian and Ubuntu call its package systemd." >&2
    [[ -z ${CI:-} ]]
    exit
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# examine UNIT: what verify finds it may tell in words alone, with exit code 0.
examine() {
    local unit=$dir/$1 said limit=$LIMIT
    said=$(systemd-analyze verify --man=no --recursive-errors=no "$unit" 2>&1) && [[ -z $said ]] || { echo "$said"; return 1; }
    [[ $unit == *.service ]] || return 0
    [[ -z ${UNCONFINED[$1]:-} ]] || limit=100
    said=$(systemd-analyze security --no-pager --offline=yes --threshold=$limit "$unit" 2>&1) || { grep -v '^✓' <<<"$said"; return 1; }
    tail -n 1 <<<"$said"
}

bad=0
for unit in *.service *.socket; do # verify wants programs that are there, and the units that one asks for
    sed "s,^\(Exec[A-Za-z]*\)=\(-*\)[^ ]*,\1=\2$(command -v true)," "$unit" >"$dir/$unit"
done
for unit in *.service *.socket; do
    service=${unit%%[-.]*} # busd-session is busd
    if [[ $unit == *.service ]]; then
        program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$unit")
        [[ $program == "/usr/local/bin/$service" ]] || { echo "$unit: ExecStart=$program, not /usr/local/bin/$service"; bad=1; }
    fi
    examine "$unit" || { echo "$unit: see above"; bad=1; }
    [[ -d $unit.d ]] || continue
    cp -r "$unit.d" "$dir"
    examine "$unit" >"$dir/said" || { cat "$dir/said"; echo "$unit with its drop-ins: see above"; bad=1; }
done
exit $bad
