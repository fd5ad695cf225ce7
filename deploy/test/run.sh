#!/usr/bin/env bash
# Brings the real Compose stack up on an engine of its own, tries it, and takes
# everything down:
#
#     deploy/test/run.sh
#
# The engine is Debian's, started for this in namespaces of its own: it sees no
# other engine and no network, and when the script ends, however it ends, its
# daemon, containers, bridges and firewall rules are gone. For that it has to be
# root. The images of others cannot be had there; under the same tags it makes
# stand-ins: Prometheus and Alertmanager as Debian has them, for Jaeger a sink that
# counts what comes, and for signal-cli-rest-api the simulator. Grafana is left out.
#
# Where it cannot run it says why and is skipped, but in CI it fails.
# COMPOSE="docker compose" or COMPOSE=docker-compose chooses one of the two.
set -euo pipefail
cd "$(dirname "$0")/../.."

SERVICES=(botd simsignal simweb busd simbus)

cannot() {
    echo "deploy/test/run.sh: $1" >&2
    [[ -z ${CI:-} ]] || exit 1
    echo "skipped: the Compose stack was not tried" >&2
    exit 0
}

# compose_command is the Compose of this machine.
compose_command() {
    if [[ -n ${COMPOSE:-} ]]; then
        echo "$COMPOSE"
    elif docker compose version >/dev/null 2>&1; then
        echo "docker compose"
    else
        echo "docker-compose"
    fi
}

# libraries PROGRAM ROOT puts those that a program is linked with into a root.
libraries() {
    local file
    for file in $(ldd "$1" | grep -oE '/[^ ]+'); do
        mkdir -p "$2$(dirname "$file")"
        cp -L "$file" "$2$file"
    done
}

# Everything that needs the network is done before the engine is there.
prepare() {
    tools/setup.sh --or-skip engine
    command -v dockerd >/dev/null || cannot "there is no Docker engine"
    [[ $EUID == 0 ]] || cannot "only root can start an engine for this; what runs on your own is left alone"
    unshare --mount --net --pid --fork true 2>/dev/null || cannot "this machine gives no namespaces (in a container: run it with --privileged)"
    tools/prometheus.sh
    deploy/docker/prepare.sh "${SERVICES[@]}"
    go test -c -o "$work/compose.test" ./e2e/compose

    local root program share
    root=$work/prometheus
    mkdir -p "$root"/{bin,prometheus,tmp}
    cp -L bin/prometheus/{prometheus,promtool} "$root/bin/"
    libraries "$root/bin/prometheus" "$root"
    root=$work/alertmanager
    mkdir -p "$root"/{bin,alertmanager,tmp,usr/share/prometheus}
    program=$(PATH=$PWD/bin/prometheus/debian/usr/bin:$PATH command -v prometheus-alertmanager) ||
        program=$(command -v alertmanager) || cannot "there is no Alertmanager beside amtool"
    cp -L "$program" "$root/bin/alertmanager"
    cp -L bin/prometheus/amtool "$root/bin/"
    libraries "$root/bin/alertmanager" "$root"
    share=$(dirname "$program")/../share/prometheus/alertmanager # where Debian's has its templates
    [[ ! -d $share ]] || cp -r "$share" "$root/usr/share/prometheus/"
    root=$work/jaeger
    mkdir -p "$root"/{bin,tmp}
    CGO_ENABLED=0 go build -trimpath -o "$root/bin/jaeger" ./e2e/cmd/otlpsink
    root=$work/signal_api
    mkdir -p "$root"/{bin,tmp}
    cp bin/image/simsignal/root/bin/simsignal "$root/bin/"
}

# standin NAME PROGRAM... makes the image that the Compose files ask for. Its
# program may write where the upstream image's may.
standin() {
    local name=$1 image command
    shift
    image=$(sed -n "s/^${name^^}_IMAGE=//p" deploy/compose/.env.example)
    command=$(printf ',"%s"' "$@")
    chown 65534:65534 "$work/$name/tmp"
    [[ ! -d $work/$name/$name ]] || chown 65534:65534 "$work/$name/$name"
    tar -C "$work/$name" -c . | docker import -c 'ENV PATH=/bin' -c "ENTRYPOINT [${command#,}]" -c 'USER 65534' - "$image" >/dev/null
    echo "stand-in for $image"
}

# start_engine returns when the engine answers.
start_engine() {
    ip link set lo up
    local dir
    for dir in /etc/docker /run/docker; do # its files go with the namespace
        mkdir -p "$dir"
        mount -t tmpfs tmpfs "$dir"
    done
    export DOCKER_HOST=unix://$work/docker.sock
    dockerd --host "$DOCKER_HOST" --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/dockerd.pid" \
        --cgroup-parent "$(basename "$work")" >"$work/dockerd.log" 2>&1 &
    local i
    for ((i = 0; i < 120; i++)); do
        docker version >/dev/null 2>&1 && return
        kill -0 $! 2>/dev/null || break
        sleep 0.5
    done
    tail -n 30 "$work/dockerd.log" >&2
    cannot "the Docker engine does not start here"
}

# inside is the first process of the namespaces: with it ends everything.
inside() {
    trap 'exit 143' TERM INT
    start_engine
    standin prometheus /bin/prometheus
    standin alertmanager /bin/alertmanager
    standin jaeger /bin/jaeger
    standin signal_api /bin/simsignal -listen 0.0.0.0:8080 -allow-remote -quirks account_missing,link_delay=1s
    # Nothing that the caller has set reaches the stack.
    local name
    for name in $(compgen -v COMPOSE_) $(sed -n 's/^\([A-Z_]*\)=.*/\1/p' deploy/compose/.env.example); do unset "$name"; done
    export IMAGE_TARGET=prebuilt IMAGE_CONTEXT=../../bin/image IMAGE_DOCKERFILE=../../deploy/docker/Dockerfile
    QUARTET_COMPOSE=$(compose_command)
    export QUARTET_COMPOSE
    echo "$QUARTET_COMPOSE: $($QUARTET_COMPOSE version --short), engine $(docker version -f '{{.Server.Version}}')"
    local code=0
    (cd e2e/compose && "$work/compose.test" -test.v -test.timeout 10m) || code=$?
    kill "$(<"$work/dockerd.pid")"
    wait
    return $code
}

# leave_nothing takes away what the namespaces did not.
leave_nothing() {
    find /sys/fs/cgroup -depth -type d -path "*/$(basename "$work")*" -exec rmdir {} + 2>/dev/null || true
    rm -rf "$work"
}

if [[ ${1:-} == --inside ]]; then
    work=$2
    inside
    exit
fi

work=$(mktemp -d /tmp/quartet-compose-XXXXXX)
trap leave_nothing EXIT
trap 'exit 143' TERM INT
prepare
unshare --mount --net --pid --fork --kill-child --mount-proc bash deploy/test/run.sh --inside "$work"
