#!/usr/bin/env bash
# What `make up` and `make down` do:
#
#     deploy/compose/stack.sh up [FLAG...]    MODE=compose or MODE=processes forces one
#     deploy/compose/stack.sh down            whichever runs
#
# Where a container engine answers and Compose is there, up brings up what
# deploy/compose/.env says, and returns when all of it is healthy. Elsewhere, or
# with flags, which are those of `quartet up`, it runs the services and the
# simulators as plain processes. Our own images are made from what Go compiles
# here; the others' are pulled. When that does not work, up says so and goes on
# with processes, unless MODE=compose, or containers of the stack ran before.
set -euo pipefail
cd "$(dirname "$0")/../.."

SERVICES=(botd simsignal simweb busd simbus) # those of which we make images
PATIENCE=180 # seconds until all is healthy

# find_compose sets compose, or fails.
find_compose() {
    command -v docker >/dev/null && docker version >/dev/null 2>&1 || return 1
    if docker compose version >/dev/null 2>&1; then
        compose=(docker compose)
    elif command -v docker-compose >/dev/null; then
        compose=(docker-compose)
    else
        return 1
    fi
}

compose() { (cd deploy/compose && "${compose[@]}" "$@"); }

# containers prints name and status of each one of the stack.
containers() {
    local project=${COMPOSE_PROJECT_NAME:-$(sed -n 's/^COMPOSE_PROJECT_NAME=//p' deploy/compose/.env)}
    docker ps -a --filter "label=com.docker.compose.project=${project:-compose}" --format '{{.Names}}: {{.Status}}'
}

# ailing prints the containers that are not as they should be, not yet or not
# any more.
ailing() { containers | grep -vE ': Up [^(]*(\(healthy\))?$' || true; }

up_in_containers() {
    echo "making our images; the first time this takes a minute or two"
    # What does not compile will not run as processes either.
    tools/setup.sh && GOARCH=$(docker version -f '{{.Server.Arch}}') deploy/docker/prepare.sh "${SERVICES[@]}" || exit 1
    export IMAGE_TARGET=prebuilt IMAGE_CONTEXT=../../bin/image IMAGE_DOCKERFILE=../../deploy/docker/Dockerfile
    compose build >bin/image/log 2>&1 || { cat bin/image/log >&2; return 1; }
    compose up -d --remove-orphans || return
    local began=$SECONDS
    while [[ -n $(ailing) ]]; do
        if ((SECONDS - began > PATIENCE)); then
            echo "not healthy after $PATIENCE s; \`${compose[*]} logs\` in deploy/compose tells more:" >&2
            ailing >&2
            return 1
        fi
        sleep 1
    done
    links
    echo "It runs on by itself; make down stops it and keeps its volumes."
}

# links prints where to look, of what runs.
links() {
    local service port path what at
    echo
    while read -r service port path what; do
        if at=$(compose port "$service" "$port" 2>/dev/null) && [[ -n $at && $at != :0 ]]; then
            printf '  %-34s http://%s%s\n' "$what" "$at" "$path"
        fi
    done <<'END'
simsignal 8080 / group chat: type !kot
signal-api 8080 /v1/about signal-cli-rest-api
botd 9101 /metrics botd's metrics
botd-live 9101 /metrics botd's metrics
busd 9102 /metrics busd's metrics
grafana 3000 /dashboards dashboards
prometheus 9090 / queries, targets, rules
alertmanager 9093 / what fires now
jaeger 16686 / traces
END
    echo
}

up() {
    case ${MODE:-} in
    compose)
        (($# == 0)) || { echo "FOR, PORTS and ARGS are for processes; ports of containers are in deploy/compose/.env" >&2; exit 2; }
        find_compose || { echo "MODE=compose, but no container engine answers here, or Compose is missing (docker version, docker compose version)" >&2; exit 1; }
        up_in_containers && return
        echo "The stack did not come up in containers, see above. Where images cannot be pulled, MODE=processes runs the same services without any." >&2
        exit 1
        ;;
    processes) ;;
    "")
        if (($# == 0)) && find_compose; then
            local before
            before=$(containers)
            up_in_containers && return
            if [[ -n $before ]]; then
                echo "The stack did not come up in containers, see above. Some of them were there before and are left as they are; make down stops them." >&2
                exit 1
            fi
            echo "The stack did not come up in containers, see above. Going on with plain processes (MODE=compose would stop here)." >&2
            compose down --remove-orphans >/dev/null 2>&1 || true
        fi
        ;;
    *)
        echo "MODE=$MODE: there are compose and processes" >&2
        exit 2
        ;;
    esac
    make --no-print-directory build
    exec bin/quartet up "$@"
}

down() {
    local any=
    if find_compose && [[ -n $(containers) ]]; then
        any=1
        compose down --remove-orphans
    fi
    if [[ -x bin/quartet ]]; then
        bin/quartet down
    elif [[ ! $any ]]; then
        echo "nothing runs: make up was never run here"
    fi
}

command=${1:-}
case $command in
up | down)
    shift
    "$command" "$@"
    ;;
*)
    echo "usage: deploy/compose/stack.sh up|down" >&2
    exit 2
    ;;
esac
