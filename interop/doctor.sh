#!/usr/bin/env bash
# `skillyard doctor` against nginx and Caddy with one fault put in at a time, over TLS:
# it names that fault and no other, and with the lines it prints in place of the faulty
# ones it is content.
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in nginx caddy curl jq openssl; do
  command -v "$tool" >/dev/null || { echo "interop/doctor.sh needs $tool (apt-get install nginx-light caddy curl jq openssl)"; exit 1; }
done

work=$(mktemp -d)
mkdir "$work/nginx" "$work/caddy"
chmod 755 "$work" # nginx serves as another user
server=
stop() {
  # A loop that is still at work stops its proxy itself when it ends.
  jobs=$(jobs -p)
  [[ -z $jobs ]] || kill $jobs 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

free_port() { python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])'; }
backend=127.0.0.1:$(free_port)

bin=${SKILLYARD_BIN:-}
if [[ -z $bin ]]; then
  bin=$work/skillyard
  go build -o "$bin" ./cmd/skillyard
fi
cat >"$work/server.yaml" <<'EOF'
server: {trusted_proxies: [127.0.0.1/32]}
auth: {keys: [{name: alice, key: alice-token}]}
stream: {heartbeat: 1500ms}
EOF
"$bin" serve --config "$work/server.yaml" --addr "$backend" --data "$work/data" 2>"$work/server.log" &

# An authority of our own, which the doctor trusts by SSL_CERT_FILE.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=Test Root' \
  -keyout "$work/ca.key" -out "$work/ca.pem" 2>/dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=agents.example.com' \
  -keyout "$work/tls.key" -out "$work/tls.csr" 2>/dev/null
openssl x509 -req -in "$work/tls.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -CAcreateserial -days 60 \
  -extfile <(echo 'subjectAltName=IP:127.0.0.1') -out "$work/tls.pem" 2>/dev/null
chmod a+r "$work/tls.key"

wait_for() { for _ in $(seq 100); do curl -ks -o /dev/null "$1" && return; sleep 0.1; done; echo "no answer from $1"; return 1; }
wait_for "http://$backend/readyz"

stop_proxy() {
  [[ -z $server ]] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; } || true
  server=
}

# start_nginx LOCATION-LINES: the faults are outside of the location, as in BROKEN and
# BESIDE, and what is in the location wins over them.
start_nginx() {
  stop_proxy
  local to=http://$backend
  [[ $where == / ]] || to=$to/
  {
    echo "daemon off; pid $dir/pid; error_log $dir/log; events {}"
    echo "http { access_log off; client_body_temp_path $dir/b; proxy_temp_path $dir/p; fastcgi_temp_path $dir/f; uwsgi_temp_path $dir/u; scgi_temp_path $dir/s;"
    echo "server { listen 127.0.0.1:$port ssl; ssl_certificate $work/tls.pem; ssl_certificate_key $work/tls.key;"
    echo 'proxy_http_version 1.1;'
    for line in "${usual[@]}"; do
      grep -qF "${line%% *} " <<<"$broken" || echo "$line"
    done
    echo "$broken"
    echo "$beside"
    echo "location $where {"
    echo "$1"
    echo "proxy_pass $to; } } }"
  } >"$dir/conf"
  nginx -c "$dir/conf" -e "$dir/log" &
  server=$!
  wait_for "$url/healthz" || { cat "$dir/conf" "$dir/log"; exit 1; }
}

# What a good configuration has; a fault replaces the lines of the same directive.
usual=(
  'proxy_buffering off;' 'proxy_read_timeout 1h;' 'client_max_body_size 10m;'
  'proxy_set_header Host $http_host;' 'proxy_set_header X-Forwarded-Host $http_host;' 'proxy_set_header X-Forwarded-Proto $scheme;'
)

# start_caddy SITE-LINES REVERSE-PROXY-LINES
start_caddy() {
  stop_proxy
  local handle="handle $where*"
  [[ $where == / ]] || handle="handle_path $where*"
  cat >"$dir/Caddyfile" <<EOF
{
	admin off
	auto_https off
}
https://127.0.0.1:$port {
	tls $work/tls.pem $work/tls.key
$1
	$handle {
		reverse_proxy $backend {
$2
		}
	}
}
EOF
  HOME=$dir XDG_DATA_HOME=$dir XDG_CONFIG_HOME=$dir caddy run --adapter caddyfile --config "$dir/Caddyfile" 2>"$dir/log" &
  server=$!
  wait_for "$url/healthz" || { cat "$dir/Caddyfile" "$dir/log"; exit 1; }
}

examine() {
  SSL_CERT_FILE=$work/ca.pem NO_PROXY=127.0.0.1 A2A_TOKEN=alice-token "$bin" doctor "$url" -o json >"$dir/report" 2>"$dir/err" || true
}

say() { # say ok|FAIL TEXT
  echo "$1 $proxy $name: $2"
  echo "$1" >>"$work/results"
}

# The lines of the report for this proxy that belong to a place.
lines() { jq -r --arg p "$proxy" --arg w "$1" '[.findings[].fixes[]? | select(.proxy == $p and (.where | test($w)))] | unique_by(.lines) | .[].lines[]' "$dir/report" | awk '!/^[^ ].*;$/ || !seen[$0]++'; }

# named CHECK SEVERITY: the report has that, and nothing else that is wrong. CHECK is a
# regular expression, for faults that two checks see.
named() {
  if jq -e --arg c "$1" --arg s "$2" '(.findings | any((.check | test($c)) and .severity == $s)) and
      (.findings | all((.check | test($c)) or .severity == "ok" or .severity == "skipped"))' "$dir/report" >/dev/null; then
    say ok "$(jq -r --arg c "$1" --arg s "$2" 'first(.findings[] | select((.check | test($c)) and .severity == $s)) | .severity + " " + .check + ": " + .text' "$dir/report" | cut -c1-150)"
  else
    say FAIL "not named, or not alone: $(jq -c '[.findings[] | select(.severity == "fail" or .severity == "warn") | [.check, .severity, .text]]' "$dir/report" 2>&1; cat "$dir/err")"
  fi
}

content() {
  if jq -e '.verdict == "ok" and (.findings | all(.severity == "ok" or .severity == "skipped"))' "$dir/report" >/dev/null; then
    say ok "$1"
  else
    say FAIL "$1: $(jq -c '[.findings[] | select(.severity == "fail" or .severity == "warn") | [.check, .severity, .text]]' "$dir/report" 2>&1; cat "$dir/err")"
  fi
}

# nginx_case NAME CHECK SEVERITY BROKEN [WHERE [BESIDE]]
nginx_case() {
  name=$1 broken=$4 where=${5:-/} beside=${6:-}
  url=https://127.0.0.1:$port${where%/}
  start_nginx ''
  examine
  named "$2" "$3"
  beside=$(lines beside | sed "s/SKILLYARD/$backend/")
  start_nginx "$(lines '^in the location')"
  examine
  content 'content with its lines'
}

# caddy_case NAME CHECK SEVERITY SITE-LINES REVERSE-LINES [WHERE]
caddy_case() {
  name=$1 where=${6:-/}
  url=https://127.0.0.1:$port${where%/}
  start_caddy "$4" "$5"
  examine
  named "$2" "$3"
  start_caddy "$(lines site)" "$(lines reverse_proxy)"
  examine
  content 'content with its lines'
}

good_headers='proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Proto $scheme;'
through_nginx() {
  proxy=nginx dir=$work/nginx port=$(free_port)
  trap stop_proxy EXIT
  name=good broken='' where=/ beside='' url=https://127.0.0.1:$port
  start_nginx ''
  examine
  content 'nothing wrong'
  nginx_case 'streams held back' stream fail 'proxy_buffering on; proxy_ignore_headers X-Accel-Buffering;'
  nginx_case 'streams compressed' 'stream headers' warn 'gzip on; gzip_types text/event-stream; gzip_min_length 1; gzip_proxied any;'
  nginx_case 'no X-Forwarded-Proto' 'card urls' fail 'proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Host $http_host;'
  nginx_case 'wrong X-Forwarded-Host' 'card urls' fail 'proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host skillyard.internal:8080;'
  nginx_case 'prefix lost' 'card urls' fail "$good_headers" /my/
  nginx_case 'small bodies only' body fail 'client_max_body_size 1k;'
  nginx_case 'short read timeout' silence fail 'proxy_read_timeout 1s;'
  nginx_case 'slash redirected' slash warn '' / 'location = /api/a2a/tasks/ { return 301 /api/a2a/tasks; }'
  name='login in front' broken='' where=/ beside='location /api/ { return 302 https://login.example.com/; }' url=https://127.0.0.1:$port
  beside+='location ~ ^/(rest|api)/ { return 302 https://login.example.com/; }'
  start_nginx ''
  examine
  named auth fail
}

through_caddy() {
  proxy=caddy dir=$work/caddy port=$(free_port)
  trap stop_proxy EXIT
  local hold='response_buffers 1MiB'
  [[ $(caddy version) != *2.6.* ]] || hold=buffer_responses
  name=good where=/ url=https://127.0.0.1:$port
  start_caddy '' ''
  examine
  content 'nothing wrong'
  caddy_case 'streams held back' stream fail '' "$hold"$'\nflush_interval 10s'
  caddy_case 'streams compressed' '^stream' warn $'encode {\ngzip\nminimum_length 1\nmatch {\nheader Content-Type *\n}\n}' ''
  caddy_case 'wrong X-Forwarded-Proto' 'card urls' fail '' 'header_up X-Forwarded-Proto http'
  caddy_case 'wrong X-Forwarded-Host' 'card urls' fail '' 'header_up X-Forwarded-Host skillyard.internal:8080'
  caddy_case 'prefix lost' 'card urls' fail '' '' /my/
  caddy_case 'small bodies only' body fail $'request_body {\nmax_size 1KB\n}' ''
  caddy_case 'short read timeout' silence fail '' $'transport http {\nread_timeout 1s\n}'
}

# The two do not meet, so they run side by side.
: >"$work/results"
(through_nginx) &
nginx_loop=$!
(through_caddy) &
caddy_loop=$!
broke=0
wait "$nginx_loop" || broke=1
wait "$caddy_loop" || broke=1
passed=$(grep -c ok "$work/results" || true) failed=$(grep -c FAIL "$work/results" || true)
echo "doctor: $passed passed, $failed failed"
[[ $failed -eq 0 && $broke -eq 0 ]]
