#!/usr/bin/env bash
# The server behind nginx and behind Caddy, with the configurations of deploy/proxy:
# card URLs, streams that are not held back, the caller's address.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in nginx caddy curl jq; do
  command -v "$tool" >/dev/null || { echo "interop/proxy.sh needs $tool (apt-get install nginx-light caddy curl jq)"; exit 1; }
done

work=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
port=$(free_port)
declare -A front=([nginx]=$(free_port) [caddy]=$(free_port))

bin=${SKILLYARD_BIN:-}
if [[ -z $bin ]]; then
  bin=$work/skillyard
  go build -o "$bin" ./cmd/skillyard
fi
sed 's#trusted_proxies: \[\]#trusted_proxies: [127.0.0.1/32]#' configs/examples/probe.yaml >"$work/probe.yaml"
grep -q 'trusted_proxies: \[127' "$work/probe.yaml"
"$bin" serve --config "$work/probe.yaml" --addr "127.0.0.1:$port" --data "$work/data" 2>"$work/server.log" &
pids+=($!)

{
  echo "daemon off; pid $work/nginx.pid; error_log $work/nginx.log; events {}"
  echo "http { access_log off; client_body_temp_path $work/b; proxy_temp_path $work/p; fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;"
  sed -e "s/127.0.0.1:8080/127.0.0.1:$port/" -e "s/listen 8081/listen 127.0.0.1:${front[nginx]}/" deploy/proxy/nginx.conf
  echo '}'
} >"$work/nginx.conf"
nginx -c "$work/nginx.conf" -e "$work/nginx.log" &
pids+=($!)

{
  echo '{'
  echo '	admin off'
  echo '	auto_https off'
  echo '}'
  sed -e "s/127.0.0.1:8080/127.0.0.1:$port/" -e "s/^:8082/http:\/\/127.0.0.1:${front[caddy]}, http:\/\/agents.example.com:${front[caddy]}/" deploy/proxy/Caddyfile
} >"$work/Caddyfile"
HOME=$work XDG_DATA_HOME=$work XDG_CONFIG_HOME=$work caddy run --adapter caddyfile --config "$work/Caddyfile" 2>"$work/caddy.log" &
pids+=($!)

ready() { for _ in $(seq 100); do curl -fs -o /dev/null "$1" && return; sleep 0.1; done; echo "no answer from $1"; cat "$work"/*.log; exit 1; }
ready "http://127.0.0.1:$port/readyz"

passed=0 failed=0
check() { # check NAME COMMAND…
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    echo "ok   $proxy $name"
    passed=$((passed + 1))
  else
    echo "FAIL $proxy $name: $(head -c 400 "$work/out")"
    failed=$((failed + 1))
  fi
}

card_urls() { # card_urls PATH WANTED-PREFIX [curl arguments]
  local path=$1 want=$2
  shift 2
  curl -fsS "$@" "$url$path/.well-known/agent-card.json" | tee "$work/card" |
    jq -e --arg want "$want" '.url == $want + "/api/a2a/tasks" and ([.supportedInterfaces[].url, .additionalInterfaces[].url] | all(startswith($want + "/")))' || { cat "$work/card"; return 1; }
}

send() { # send PATH BODY [curl arguments]
  local path=$1 body=$2
  shift 2
  curl -sS "$@" "$url$path" -H 'Authorization: Bearer alice-token' -H 'Content-Type: application/json' -H 'A2A-Version: 1.0' -d "$body"
}

message() { jq -cn --arg m "$1" --arg t "$2" '{jsonrpc:"2.0",id:1,method:$m,params:{message:{messageId:"m",role:"ROLE_USER",parts:[{text:$t}]}}}'; }

# The first chunk must come long before the last: the run lasts two seconds.
not_held_back() {
  send "$1" "$(message SendStreamingMessage '@chunks 5 500')" -N --max-time 20 | python3 -c '
import sys, time
began, first, n = time.time(), None, 0
for line in sys.stdin.buffer:
    if b"artifactUpdate" in line:
        n += 1
        first = first or time.time()
total = time.time() - first
sys.exit(0 if n == 5 and total > 1.5 else f"{n} chunks within {total:.2f} s")'
}

for proxy in nginx caddy; do
  url=http://127.0.0.1:${front[$proxy]}
  ready "$url/healthz"
  check 'card names the host that was asked' card_urls '' "http://agents.example.com:${front[$proxy]}" -H "Host: agents.example.com:${front[$proxy]}"
  check 'card under a path names it' card_urls /my "$url/my"
  check 'a made-up prefix changes nothing' card_urls '' "$url" -H 'X-Forwarded-Prefix: /evil'
  check 'call' bash -c "$(declare -f send message); url=$url; send / \"\$(message SendMessage '@echo through')\" | jq -e '.result.task.artifacts[0].parts[0].text == \"through\"'"
  check 'call under a path, with a slash' bash -c "$(declare -f send message); url=$url; send /my/api/a2a/tasks/ \"\$(message SendMessage '@echo through')\" | jq -e '.result.task.artifacts[0].parts[0].text == \"through\"'"
  check 'stream is not held back' not_held_back /
  check 'stream under a path is not held back' not_held_back /my/
  check 'too large a body is a clear refusal' bash -c "[[ \$(head -c 11000000 /dev/zero | curl -s -o /dev/null -w '%{http_code}' '$url/' -H 'Authorization: Bearer alice-token' -H 'Content-Type: application/json' --data-binary @-) == 413 ]]"
  check 'the caller is the one the proxy names' bash -c "curl -fsS -o /dev/null -H 'X-Request-Id: who-$proxy' -H 'X-Forwarded-For: 203.0.113.7' '$url/healthz' && grep 'who-$proxy' '$work/server.log' | grep -q '\"client_ip\":\"127.0.0.1\"\\|\"client_ip\":\"203.0.113.7\"'"
done
echo "proxies: $passed passed, $failed failed"
[[ $failed -eq 0 ]]
