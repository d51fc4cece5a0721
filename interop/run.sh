#!/usr/bin/env bash
# Runs real A2A clients against the server: builds it, starts it on free loopback ports
# (HTTP and gRPC) with an empty data directory, keys that sign its cards and an extended
# card, runs every client (or those named as arguments) over every transport that it has,
# stops it, and counts. Checks are named CLIENT/TRANSPORT/SCENARIO.
#
#   interop/run.sh [CLIENT...]        js-1.3.0 js-0.3.14 py-1 py-0.3 fasta2a go mcp
#
# The clients cli-* are the program's own commands, with agents of other SDKs. The client
# mcp waits a minute for work (MCP_TASK_SECONDS), so it starts first and runs beside the
# others.
#
# With SKILLYARD_URL set, a server that runs already is used instead; SKILLYARD_SIGNED=1
# then says that its cards are signed.
# A client that cannot be installed or that prints no check counts as failed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
work=$(mktemp -d)
server_pid='' mcp_pid=''

stop() {
  local status=$?
  if [[ -n $mcp_pid ]] && kill -0 "$mcp_pid" 2>/dev/null; then
    kill "$mcp_pid"
    wait "$mcp_pid" || true
  fi
  if [[ -n $server_pid ]] && kill -0 "$server_pid" 2>/dev/null; then
    kill "$server_pid"
    wait "$server_pid" || true
  fi
  [[ $status -eq 0 ]] || tail -n 30 "$work/server.log" 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

say() { printf '%(%H:%M:%S)T interop: %s\n' -1 "$*"; }

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

build() {
  [[ -x $work/skillyard ]] || (cd "$root" && go build -trimpath -o "$work/skillyard" ./cmd/skillyard)
}

start_server() {
  local binary=$work/skillyard
  build
  SKILLYARD_URL=http://127.0.0.1:$(free_port)
  local grpc
  grpc=127.0.0.1:$(free_port)
  "$binary" keys generate --signing --alg ES256 >"$work/ec.pem" 2>/dev/null
  "$binary" keys generate --signing --alg EdDSA >"$work/ed.pem" 2>/dev/null
  # The skills are the example's last member, so that one more can follow them.
  cat "$root/configs/examples/probe.yaml" - >"$work/config.yaml" <<YAML
  - {id: backstage, kind: mock, name: Backstage, description: Only for those who have a key., tags: [test], private: true}
grpc: {addr: $grpc}
card:
  extended: true
  signing: {keys: [{kid: ec, file: $work/ec.pem}, {kid: ed, file: $work/ed.pem}]}
YAML
  export SKILLYARD_SIGNED=1 SKILLYARD_BIN=$binary
  A2A_PUBLIC_URL=$SKILLYARD_URL "$binary" serve --config "$work/config.yaml" \
    --addr "${SKILLYARD_URL#http://}" --data "$work/data" >"$work/server.log" 2>&1 &
  server_pid=$!
  for _ in {1..200}; do
    kill -0 "$server_pid" 2>/dev/null || { say "the server ended at once"; return 1; }
    curl -fsS -o /dev/null "$SKILLYARD_URL/readyz" 2>/dev/null && return 0
    sleep 0.05
  done
  say "the server is not ready after 10 s"
  return 1
}

# install_python DIR: a virtual environment with exactly the pinned packages.
install_python() {
  local stamp=$1/.venv/requirements.txt
  cmp -s "$1/requirements.txt" "$stamp" && return 0
  rm -rf "$1/.venv"
  python3 -m venv "$1/.venv"
  "$1/.venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$1/requirements.txt"
  "$1/.venv/bin/pip" check --disable-pip-version-check
  cp "$1/requirements.txt" "$stamp"
}

# install_node DIR: node_modules exactly as the lock file says.
install_node() {
  cmp -s "$1/package-lock.json" "$1/node_modules/.lock" && return 0
  (cd "$1" && npm ci --silent --no-audit --no-fund)
  cp "$1/package-lock.json" "$1/node_modules/.lock"
}

# run_cli NAME: a session of the commands with the agent cli/NAME, over JSON-RPC, or over
# HTTP+JSON if the name ends in -rest.
run_cli() {
  local agent=${1#cli-} command
  local dir=$here/cli/${agent%-rest}
  case $agent in
    js-*) install_node "$dir" && command=(node "$dir/server.mjs") ;;
    *) install_python "$dir" && command=("$dir/.venv/bin/python" "$dir/server.py") ;;
  esac && build || return
  [[ $agent != *-rest ]] || command+=(rest)
  SKILLYARD_BIN=$work/skillyard python3 "$here/cli/check.py" "$1" "${command[@]}"
}

run_client() {
  local dir=$here/$1
  case $1 in
    js-*) install_node "$dir" && (cd "$dir" && node check.mjs) ;;
    mcp) wait "$mcp_pid" ;;
    py-* | fasta2a) install_python "$dir" && (cd "$dir" && .venv/bin/python check.py) ;;
    go) (cd "$dir" && go build -trimpath -o "$work/go-client" . && "$work/go-client") ;;
    cli-*) run_cli "$1" ;;
    *) echo "no such client: $1" && return 2 ;;
  esac
}

clients=("$@")
[[ $# -gt 0 ]] || clients=(js-1.3.0 js-0.3.14 py-1 py-0.3 fasta2a go mcp cli-fasta2a cli-py-1 cli-py-1-rest cli-js-0.3.14 cli-js-0.3.14-rest)

if [[ -z ${SKILLYARD_URL:-} ]]; then
  say "build and start the server"
  start_server
fi
export SKILLYARD_URL
say "server at $SKILLYARD_URL"

if [[ " ${clients[*]} " == *" mcp "* ]]; then
  (install_node "$here/mcp" && cd "$here/mcp" && exec node check.mjs) >"$work/mcp.out" 2>"$work/mcp.err" &
  mcp_pid=$!
  # Its turn is the last, when what it waits for is there.
  others=()
  for client in "${clients[@]}"; do [[ $client == mcp ]] || others+=("$client"); done
  clients=("${others[@]}" mcp)
fi

passed=0 failed=0
for client in "${clients[@]}"; do
  say "$client"
  out=$work/$client.out
  status=0
  run_client "$client" >>"$out" 2>>"$work/$client.err" || status=$?
  cat "$out"
  ok=$(grep -c '^ok ' "$out" || true)
  bad=$(grep -c '^FAIL ' "$out" || true)
  if ((ok + bad == 0)) || { ((status != 0)) && ((bad == 0)); }; then
    echo "FAIL $client/run: exit code $status after $ok checks"
    bad=$((bad + 1))
  fi
  if ((bad > 0)); then
    tail -n 20 "$work/$client.err"
  fi
  passed=$((passed + ok)) failed=$((failed + bad))
done

if [[ -n $server_pid ]] && ! kill -0 "$server_pid" 2>/dev/null; then
  echo "FAIL server/run: it ended while the clients ran"
  failed=$((failed + 1))
fi

# A summary line of its own, and the exit code.
echo "interop: $passed passed, $failed failed"
((failed == 0))
