#!/usr/bin/env bash
# Compiles services and lays out the files of their images:
#
#     deploy/docker/prepare.sh [--into DIR] SERVICE...      DIR is bin/image by default
#
#     DIR/botd/root     /bin/botd, /service which leads to it, the authorities;
#                       and programs called botd-…, if it has any
#     DIR/botd/state    /var/lib, with an empty botd in it that the service owns
#
# GOARCH chooses the processor, as it does for Go.
set -euo pipefail
cd "$(dirname "$0")/../.."

into=bin/image
if [[ ${1:-} == --into ]]; then
    into=$2
    shift 2
fi

# package SERVICE is the folder of its main package.
package() {
    local dir
    for dir in services/*/cmd/"$1" sim/cmd/"$1"; do
        [[ -d $dir ]] && { echo "./$dir"; return; }
    done
    echo "prepare.sh: no service is called '$1'" >&2
    return 1
}

# beside PACKAGE prints the packages of programs that are the service's, too.
beside() {
    local dir
    for dir in "$1"-*; do
        [[ -d $dir ]] && echo "$dir" || true
    done
}

# authorities is the bundle of this machine, wherever its system keeps it.
authorities() {
    local file
    for file in "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
        [[ -n $file && -r $file ]] && { echo "$file"; return; }
    done
    echo "prepare.sh: no bundle of certificate authorities here; Debian's package is ca-certificates, SSL_CERT_FILE names another" >&2
    return 1
}

for service in "$@"; do
    source=$(package "$service")
    bundle=$(authorities)
    rm -rf "${into:?}/$service"
    mkdir -p "$into/$service"/{root/bin,root/etc/ssl/certs,state/"$service"}
    mapfile -t sources < <(echo "$source"; beside "$source")
    CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags=-s -o "$into/$service/root/bin/" "${sources[@]}"
    ln -s "bin/$service" "$into/$service/root/service"
    cp "$bundle" "$into/$service/root/etc/ssl/certs/ca-certificates.crt"
    chmod -R u=rwX,go=rX "$into/$service"
done
