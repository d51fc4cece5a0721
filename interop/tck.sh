#!/usr/bin/env bash
# Runs the conformance kits of A2A against the server, on every transport, and writes
# docs/conformance.md from their reports.
#
#   interop/tck.sh KIT_1.0 KIT_0.3
#
# The arguments are checkouts of https://github.com/a2aproject/a2a-tck, of the branches
# 1.0-dev and 0.3.x. A checkout without a virtual environment gets one, from PyPI.
# It takes about four minutes, since the kits wait in many places.
set -euo pipefail

[[ $# -eq 2 ]] || { echo "usage: interop/tck.sh KIT_1.0 KIT_0.3"; exit 2; }
kit1=$(cd "$1" && pwd) kit03=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
server_pid=

stop_server() {
  [[ -n $server_pid ]] || return 0
  kill "$server_pid" 2>/dev/null || true
  wait "$server_pid" 2>/dev/null || true
  server_pid=
}
stop() {
  local status=$?
  stop_server
  [[ $status -eq 0 ]] || tail -n 10 "$work"/*.log 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

say() { printf '%(%H:%M:%S)T tck: %s\n' -1 "$*"; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

install() { # install KIT
  [[ -x $1/.venv/bin/pytest ]] && return 0
  python3 -m venv "$1/.venv"
  (cd "$1" && .venv/bin/pip install --quiet --disable-pip-version-check -e .)
}

start_server() { # start_server [NAME=VALUE...]; sets url
  local port grpc
  port=$(free_port) grpc=$(free_port)
  url=http://127.0.0.1:$port
  env A2A_PUBLIC_URL="$url" A2A_GRPC_ADDR="127.0.0.1:$grpc" "$@" \
    "$work/skillyard" serve -c "$work/tck.yaml" --addr "127.0.0.1:$port" --data "$work/data" >"$work/server.log" 2>&1 &
  server_pid=$!
  for _ in {1..200}; do
    kill -0 "$server_pid" 2>/dev/null || { say "the server ended at once"; return 1; }
    curl -fsS -o /dev/null "$url/readyz" 2>/dev/null && return 0
    sleep 0.05
  done
  say "the server is not ready after 10 s"
  return 1
}

# run1 NUMBER [NAME=VALUE...] [-- PYTEST-ARGUMENT...]: one run of the kit of 1.0. That
# a test fails is in its report and stops nothing here.
run1() {
  local number=$1 settings=()
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do
    settings+=("$1")
    shift
  done
  say "1.0, run $number ${settings[*]}"
  start_server "${settings[@]}"
  rm -f "$kit1"/reports/{compatibility.json,junitreport.xml}
  (cd "$kit1" && .venv/bin/python run_tck.py --sut-host "$url" "$@") >"$work/v1-$number.log" 2>&1 || true
  stop_server
  tail -n 1 "$work/v1-$number.log"
  mv "$kit1/reports/compatibility.json" "$work/v1-$number.json"
  mv "$kit1/reports/junitreport.xml" "$work/v1-$number.xml"
}

run03() {
  say "0.3"
  start_server A2A_CARD_MODE=hybrid A2A_COMPAT_ERRORS=1.0.1
  local transports
  transports=$(curl -fsS -H 'A2A-Version: 0.3' "$url/.well-known/agent-card.json" |
    jq -r '[.additionalInterfaces[].transport | {JSONRPC: "jsonrpc", "HTTP+JSON": "rest", GRPC: "grpc"}[.]] | unique | join(",")')
  rm -f "$kit03"/reports/*_results.json
  (cd "$kit03" && PYTHONPATH=$root/interop/tck PYTEST_ADDOPTS='-p grpcaddr' \
    .venv/bin/python run_tck.py --sut-url "$url" --category all --transports "$transports") >"$work/v03.log" 2>&1 || true
  stop_server
  grep -E '^([0-9]+ [a-z]+, )*[0-9]+ [a-z]+ in ' "$work/v03.log"
  mkdir "$work/v03"
  mv "$kit03"/reports/*_results.json "$work/v03/"
}

say "build"
go build -trimpath -o "$work/skillyard" ./cmd/skillyard
install "$kit1"
install "$kit03"

# A capability that is missing can only be tested where it is, so that there are three
# runs of the kit of 1.0. What requires an extension refuses all other tests.
cp configs/examples/tck.yaml "$work/tck.yaml"
run1 1
run1 2 A2A_PUSH_ENABLED=false A2A_STREAM_ENABLED=false
sed 's#^card: {mode: v1}$#card: {mode: v1, extensions: [{uri: "urn:a2a:tck:required-extension", required: true}]}#' configs/examples/tck.yaml >"$work/tck.yaml"
grep -q required-extension "$work/tck.yaml"
run1 3 -- -k TestCapabilityExtensionRequired
cp configs/examples/tck.yaml "$work/tck.yaml"
run03

python3 interop/tck/collect.py "$work" \
  --skillyard "$(git rev-parse --short HEAD)" --kit-1.0 "$(git -C "$kit1" rev-parse --short HEAD)" --kit-0.3 "$(git -C "$kit03" rev-parse --short HEAD)" \
  >"$work/results.json"
mv "$work/results.json" "$root/interop/tck/results.json"
go test ./server -run TestConformance_Document -update
say "docs/conformance.md is written; see what git says of it"
