package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// check returns every problem of the values: first what one value says, then what
// they say together. It reads the files of keys and schemas.
func (c *Config) check() []*Problem {
	k := &checker{cfg: c, bad: map[string]bool{}}
	k.tags()
	k.server()
	k.grpc()
	k.auth()
	k.boards()
	k.card()
	k.skills()
	return k.problems
}

type checker struct {
	cfg      *Config
	problems []*Problem
	// bad are the paths that have a problem already.
	bad map[string]bool
}

func (k *checker) fault(path, format string, args ...any) {
	if k.bad[path] {
		return
	}
	k.bad[path] = true
	k.problems = append(k.problems, k.cfg.from.problem(path, fmt.Sprintf(format, args...)))
}

// tags checks the validate tags of the types.
func (k *checker) tags() {
	tagFaults(k.cfg, func(path, message string) { k.fault(path, "%s", message) })
}

func (k *checker) server() {
	s := k.cfg.Server
	if s.Addr != "" {
		if err := checkAddr(s.Addr); err != nil {
			k.fault("server.addr", "%s", err)
		}
	}
	if s.PublicURL != "" {
		if err := checkURL(s.PublicURL); err != nil {
			k.fault("server.public_url", "%s", err)
		}
	}
	for i, p := range s.TrustedProxies {
		if _, err := parsePrefix(p); err != nil {
			k.fault(fmt.Sprintf("server.trusted_proxies[%d]", i), "%q is not an address or a network such as 10.0.0.0/8", p)
		}
	}
	for i, o := range s.CORSOrigins {
		u, err := url.Parse(o)
		if o != "*" && (err != nil || checkURL(o) != nil || u.Path != "") {
			k.fault(fmt.Sprintf("server.cors_origins[%d]", i), "%q is not an origin such as https://ui.example.com, or *", o)
		}
	}
}

func (k *checker) grpc() {
	g := k.cfg.GRPC
	if g.Addr != "" {
		if err := checkAddr(g.Addr); err != nil {
			k.fault("grpc.addr", "%s", err)
		} else if _, port, _ := net.SplitHostPort(g.Addr); g.Addr == k.cfg.Server.Addr && port != "0" {
			k.fault("grpc.addr", "is server.addr; gRPC needs a port of its own")
		}
	}
	if host, _, err := net.SplitHostPort(g.PublicAddr); g.PublicAddr != "" && (err != nil || host == "" || checkAddr(g.PublicAddr) != nil) {
		k.fault("grpc.public_addr", "%q is not a host and a port such as agents.example.com:443", g.PublicAddr)
	}
	if (g.TLS.CertFile == "") != (g.TLS.KeyFile == "") {
		k.fault("grpc.tls", "must have both cert_file and key_file, or neither")
	}
}

// checkAddr checks a listen address: a host, a name or nothing, and a port.
func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not an address such as 127.0.0.1:8080 or :8080", addr)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port number", port)
	}
	return nil
}

// checkURL checks an http or https URL to which paths are appended.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return fmt.Errorf("%q is not a URL such as https://agents.example.com", text)
	case u.User != nil:
		return errors.New("must not contain a user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("must not contain a query or fragment")
	case strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return errors.New("must have a plain path")
	}
	return nil
}

// parsePrefix reads a network or a single address.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// auth checks the keys, and reads those that are in files.
func (k *checker) auth() {
	tenants := map[string]string{}
	allowed := map[string][]string{}
	owners := map[string]string{} // hash → name
	for i := range k.cfg.Auth.Keys {
		key := &k.cfg.Auth.Keys[i]
		path := fmt.Sprintf("auth.keys[%d]", i)
		given := 0
		for _, set := range [...]bool{key.Key != "", key.SHA256 != "", key.File != ""} {
			if set {
				given++
			}
		}
		if given != 1 {
			k.fault(path, "must have one of key, sha256 and file")
			continue
		}
		if key.File != "" {
			text, err := readSecretFile(key.File)
			switch {
			case err != nil:
				k.fault(path+".file", "%s", err)
				continue
			case text == "":
				k.fault(path+".file", "%s is empty", key.File)
				continue
			}
			key.Key = Secret(text)
		}
		if strings.ContainsFunc(key.Key.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
			k.fault(path, "the key must consist of visible ASCII characters, as it is sent in a header")
			continue
		}
		hash := strings.ToLower(key.SHA256)
		if key.Key != "" {
			sum := sha256.Sum256([]byte(key.Key))
			hash = hex.EncodeToString(sum[:])
		} else {
			key.SHA256 = hash
		}
		if name, twice := owners[hash]; twice {
			k.fault(path, "is the same key as that of %q", name)
		}
		owners[hash] = key.Name
		if tenant, twice := tenants[key.Name]; twice && tenant != key.Tenant {
			k.fault(path+".tenant", "is %q, but %q is the tenant of another key with this name", key.Tenant, tenant)
		}
		tenants[key.Name] = key.Tenant
		for j, id := range key.Skills {
			if !slices.ContainsFunc(k.cfg.Skills, func(s Skill) bool { return s.ID == id }) {
				k.fault(fmt.Sprintf("%s.skills[%d]", path, j), "%q is not the id of a skill", id)
			}
		}
		if ids, twice := allowed[key.Name]; twice && !slices.Equal(ids, key.Skills) {
			k.fault(path+".skills", "are not those of another key with the name %q, which is the same caller", key.Name)
		}
		allowed[key.Name] = key.Skills
		for _, r := range key.Name + key.Tenant {
			if r < ' ' || r == 0x7f {
				k.fault(path+".name", "must not contain control characters")
			}
		}
	}
	if k.cfg.Auth.Required == "true" && len(k.cfg.Auth.Keys) == 0 {
		k.fault("auth.required", "is true, but there are no keys: nobody could call")
	}
}

func (k *checker) boards() {
	if k.cfg.Boards.Source != "lakefs" {
		return
	}
	l := k.cfg.Boards.LakeFS
	for _, need := range [...]struct{ key, value string }{
		{"endpoint", l.Endpoint}, {"access_key_id", l.AccessKeyID},
		{"secret_access_key", l.SecretAccessKey.Reveal()}, {"repository", l.Repository}, {"branch", l.Branch},
	} {
		if need.value == "" {
			k.fault("boards.lakefs."+need.key, "is required, as boards.source is lakefs")
		}
	}
	if l.Endpoint != "" {
		if err := checkURL(l.Endpoint); err != nil {
			k.fault("boards.lakefs.endpoint", "%s", err)
		}
	}
}

func (k *checker) card() {
	c := k.cfg.Card
	for _, link := range [...]struct{ key, value string }{
		{"documentation_url", c.DocumentationURL}, {"icon_url", c.IconURL}, {"provider.url", c.Provider.URL},
	} {
		u, err := url.Parse(link.value)
		if link.value != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
			k.fault("card."+link.key, "%q is not a URL such as https://example.com", link.value)
		}
	}
	k.signing()
	uris := map[string]int{}
	for i, x := range c.Extensions {
		path := fmt.Sprintf("card.extensions[%d].uri", i)
		// It is an element of a comma-separated header.
		if u, err := url.Parse(x.URI); x.URI != "" && (err != nil || !u.IsAbs() || strings.ContainsFunc(x.URI, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' })) {
			k.fault(path, "%q is not an absolute URI without commas", x.URI)
		}
		if first, twice := uris[x.URI]; twice {
			k.fault(path, "%q is also that of card.extensions[%d]", x.URI, first)
		} else {
			uris[x.URI] = i
		}
	}
	if c.Extended && len(k.cfg.Auth.Keys) == 0 {
		k.fault("card.extended", "is true, but there are no keys: nobody could get the extended card")
	}
	if (c.Provider.Organization == "") != (c.Provider.URL == "") {
		k.fault("card.provider", "must have both organization and url, or neither")
	}
}

// signing checks how cards are signed, and reads the keys.
func (k *checker) signing() {
	s := k.cfg.Card.Signing
	if len(s.Keys) > 0 && k.cfg.Server.PublicURL == "" {
		// The signature covers the URLs, so they must not depend on the request.
		k.fault("card.signing", "needs server.public_url: a signed card has fixed URLs")
	}
	if u, err := url.Parse(s.JKU); s.JKU != "" && (err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "") {
		k.fault("card.signing.jku", "%q is not a URL such as https://example.com/jwks.json", s.JKU)
	}
	for i := range s.Keys {
		key := &s.Keys[i]
		if key.File == "" {
			continue
		}
		text, err := readSecretFile(key.File)
		if err != nil {
			k.fault(fmt.Sprintf("card.signing.keys[%d].file", i), "%s", err)
		}
		key.PEM = Secret(text)
	}
}

// skillID is what an id may look like: it is part of URLs.
var skillID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (k *checker) skills() {
	seen := map[string]int{}
	for i := range k.cfg.Skills {
		s := &k.cfg.Skills[i]
		path := fmt.Sprintf("skills[%d]", i)
		for _, d := range [...]struct {
			key string
			doc *Document
		}{{"input_schema", &s.InputSchema}, {"output_schema", &s.OutputSchema}} {
			if err := d.doc.read(); err != nil {
				k.fault(path+"."+d.key, "%s", err)
			}
		}
		if s.ID != "" && !skillID.MatchString(s.ID) {
			k.fault(path+".id", "%q must be letters, digits, '.', '_' and '-', at most 64", s.ID)
		}
		if s.Private && len(k.cfg.Auth.Keys) == 0 {
			k.fault(path+".private", "is true, but there are no keys: nobody could use the skill")
		}
		if first, twice := seen[s.ID]; twice {
			k.fault(path+".id", "%q is also the id of skills[%d]", s.ID, first)
		} else {
			seen[s.ID] = i
		}
		for _, modes := range [...]struct {
			key  string
			list []string
		}{{"input_modes", s.InputModes}, {"output_modes", s.OutputModes}} {
			for j, mode := range modes.list {
				if t, _, err := mime.ParseMediaType(mode); err != nil || !strings.Contains(t, "/") {
					k.fault(fmt.Sprintf("%s.%s[%d]", path, modes.key, j), "%q is not a media type such as text/plain", mode)
				}
			}
		}
	}
	if _, ok := seen[k.cfg.DefaultSkill]; !ok && len(k.cfg.Skills) > 0 {
		var ids []string
		for _, s := range k.cfg.Skills {
			ids = append(ids, s.ID)
		}
		k.fault("default_skill", "%q is not the id of a skill; there are %s", k.cfg.DefaultSkill, strings.Join(ids, ", "))
	}
}

// Warnings returns remarks on a valid configuration that its owner should know,
// each one sentence.
func (c *Config) Warnings() []string {
	var w []string
	open := reachable(c.Server.Addr)
	if open && !c.Auth.Enforced() {
		w = append(w, "server.addr "+c.Server.Addr+" can be reached from other machines, and no API key is asked for")
	}
	if reachable(c.GRPC.Addr) {
		if !c.Auth.Enforced() {
			w = append(w, "grpc.addr "+c.GRPC.Addr+" can be reached from other machines, and no API key is asked for")
		}
		if c.GRPC.TLS.CertFile == "" {
			w = append(w, "grpc.addr "+c.GRPC.Addr+" can be reached from other machines without TLS (grpc.tls); a proxy in front should have it")
		}
	}
	if open && c.Server.PublicURL == "" && len(c.Server.TrustedProxies) == 0 {
		w = append(w, "server.public_url is not set: agent cards name the address that a client connected to, which may not be the one others can use")
	}
	if c.Store.Kind == "memory" {
		w = append(w, "store.kind is memory: tasks are lost when the server stops")
	}
	return w
}

// reachable reports whether a listen address can be reached from other machines.
func reachable(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	a, notAddress := netip.ParseAddr(host)
	return err == nil && host != "localhost" && (notAddress != nil || !a.IsLoopback())
}
