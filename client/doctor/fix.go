package doctor

import (
	"path"
	"regexp"
	"strings"
)

// proxies are those that advice is given for, by the names that they give themselves.
var proxies = []string{"nginx", "caddy", "traefik"}

// Fix is what to write into one proxy's configuration, or into that of Skillyard.
type Fix struct {
	// Proxy is "nginx", "caddy", "traefik" or "skillyard".
	Proxy string `json:"proxy"`
	// Where says in a few words where the lines belong.
	Where string   `json:"where"`
	Lines []string `json:"lines"`
}

// Where lines belong. Those for nginx are all of the location: a directive there
// replaces the same one outside of it.
const (
	inLocation = "in the location that passes to the server"
	inReverse  = "in the reverse_proxy block"
	inSite     = "in the site's block"
	inDynamic  = "in the dynamic configuration"
	inStatic   = "in the static configuration"
	inServer   = "in the configuration of Skillyard, instead of headers"
)

// chosen are the fixes for the proxy that is in front, or that was asked for.
func (e *exam) chosen(all []Fix) []Fix {
	want := e.o.Proxy
	if want == "" {
		want = e.proxy
	}
	var list []Fix
	for _, f := range all {
		if want == "" || want == "all" || f.Proxy == want || f.Proxy == "skillyard" {
			list = append(list, f)
		}
	}
	return list
}

// fixForwarded has the card's URLs be those that clients use. host and prefix are what
// clients have in their URLs.
func fixForwarded(scheme, host, prefix string) []Fix {
	proto := "$scheme"
	if scheme == "https" {
		// TLS may end before this proxy.
		proto = "https"
	}
	nginx := []string{
		"proxy_set_header Host $http_host;",
		`proxy_set_header Connection "";`,
		"proxy_set_header X-Forwarded-Host $http_host;",
		"proxy_set_header X-Forwarded-Proto " + proto + ";",
		"proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
	}
	caddy := []string{"header_up X-Forwarded-Host {hostport}", "header_up X-Forwarded-Proto " + map[bool]string{true: "https", false: "{scheme}"}[scheme == "https"]}
	traefik := Fix{"traefik", inStatic, []string{
		"entryPoints:",
		"  websecure:",
		"    forwardedHeaders:",
		"      trustedIPs: [192.0.2.1/32]   # the proxy before Traefik, if there is one",
	}}
	if prefix != "" {
		nginx = append(nginx, "proxy_set_header X-Forwarded-Prefix "+prefix+";")
		caddy = append(caddy, "header_up X-Forwarded-Prefix "+prefix)
		// The middleware says itself what it has cut off.
		traefik = Fix{"traefik", inDynamic, []string{
			"http:",
			"  middlewares:",
			"    " + strings.ReplaceAll(strings.Trim(prefix, "/"), "/", "-") + ":   # name it in the router's middlewares",
			"      stripPrefix:",
			"        prefixes: [" + prefix + "]",
		}}
	} else {
		nginx = append(nginx, `proxy_set_header X-Forwarded-Prefix "";`)
		caddy = append(caddy, "header_up -X-Forwarded-Prefix")
	}
	return []Fix{
		{"nginx", inLocation, nginx},
		{"caddy", inReverse, caddy},
		traefik,
		{"skillyard", inServer, []string{"server:", "  public_url: " + scheme + "://" + host + prefix}},
	}
}

func fixBuffering() []Fix {
	return []Fix{
		{"nginx", inLocation, []string{"proxy_http_version 1.1;", "proxy_buffering off;", "proxy_cache off;"}},
		{"caddy", inReverse, []string{"flush_interval -1", "# and neither response_buffers nor buffer_responses"}},
		{"traefik", inDynamic, []string{
			"http:",
			"  services:",
			"    skillyard:",
			"      loadBalancer:",
			"        responseForwarding:",
			`          flushInterval: "-1ms"`,
			"# and no buffering middleware in the router",
		}},
	}
}

func fixCompression() []Fix {
	return []Fix{
		{"nginx", inLocation, []string{"gzip off;", "proxy_buffering off;"}},
		{"caddy", inSite, []string{
			"encode {",
			"\tgzip",
			"\tmatch {",
			"\t\theader Content-Type application/json*",
			"\t}",
			"}",
		}},
		{"traefik", inDynamic, []string{
			"http:",
			"  middlewares:",
			"    compress:",
			"      compress:",
			"        excludedContentTypes: [text/event-stream]",
		}},
	}
}

func fixSilence() []Fix {
	return []Fix{
		{"nginx", inLocation, []string{"proxy_read_timeout 1h;"}},
		{"caddy", inReverse, []string{"transport http {", "\tread_timeout 1h", "}"}},
		{"traefik", inStatic, []string{
			"entryPoints:",
			"  websecure:",
			"    transport:",
			"      respondingTimeouts:",
			"        writeTimeout: 0s",
			"        idleTimeout: 1h",
		}},
	}
}

func fixBody() []Fix {
	return []Fix{
		{"nginx", inLocation, []string{"client_max_body_size 10m;"}},
		{"caddy", inSite, []string{"request_body {", "\tmax_size 10MB", "}"}},
		{"traefik", inDynamic, []string{
			"# without the buffering middleware in the router Traefik has no limit;",
			"# with it, streams are held back",
		}},
	}
}

// fixSlash has both forms of a path passed on. at is the path that is redirected.
func fixSlash(at string) []Fix {
	bare := strings.TrimSuffix(at, "/")
	other := bare
	if other == at {
		other += "/"
	}
	name := "slash-" + path.Base(at)
	return []Fix{
		// Without the first of the two nginx redirects to the second by itself.
		{"nginx", "beside the location that passes to the server, whose other lines they need as well", []string{
			"location = " + bare + " {",
			"    proxy_pass http://SKILLYARD" + other + ";",
			"}",
			"location = " + bare + "/ {",
			"    proxy_pass http://SKILLYARD" + other + ";",
			"}",
		}},
		{"caddy", inSite, []string{"rewrite " + at + " " + other}},
		{"traefik", inDynamic, []string{
			"http:",
			"  middlewares:",
			"    " + name + ":   # in place of redirectRegex, in the router's middlewares",
			"      replacePathRegex:",
			`        regex: "^` + regexp.QuoteMeta(at) + `$"`,
			`        replacement: "` + other + `"`,
		}},
	}
}

func fixChain() []Fix {
	return []Fix{
		{"nginx", "in the server block", []string{"ssl_certificate /path/fullchain.pem;"}},
		{"caddy", inSite, []string{"tls /path/fullchain.pem /path/key.pem"}},
		{"traefik", inDynamic, []string{"tls:", "  certificates:", "    - certFile: /path/fullchain.pem", "      keyFile: /path/key.pem"}},
	}
}
