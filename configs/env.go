package configs

import (
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
)

// envPrefix starts the name of every setting's variable: the key's path in upper
// case with underscores, A2A_SERVER_ADDR for server.addr. The keys "0.3" and "1.0"
// are V03 and V1. Lists are separated by commas. Keys and skills have none.
const envPrefix = "A2A_"

// aliases are other names of settings' variables, as deployments of related
// programs already set them. A setting's own variable wins over its aliases, and
// an earlier alias over a later one. PORT, API_KEY, API_KEY_FILE and
// LAKEFS_SECRET_ACCESS_KEY_FILE are read apart.
var aliases = [...]struct{ name, setting string }{
	{"A2A_HTTP_ADDR", "A2A_SERVER_ADDR"},
	{"A2A_PUBLIC_URL", "A2A_SERVER_PUBLIC_URL"},
	{"A2A_PUBLIC_BASE_URL", "A2A_SERVER_PUBLIC_URL"},
	{"BOARDS_DIR", "A2A_BOARDS_FILES_DIR"},
	{"STORAGE_BACKEND", "A2A_BOARDS_SOURCE"},
	{"LAKEFS_ENDPOINT", "A2A_BOARDS_LAKEFS_ENDPOINT"},
	{"LAKEFS_ACCESS_KEY_ID", "A2A_BOARDS_LAKEFS_ACCESS_KEY_ID"},
	{"LAKEFS_SECRET_ACCESS_KEY", "A2A_BOARDS_LAKEFS_SECRET_ACCESS_KEY"},
	{"LAKEFS_REPOSITORY", "A2A_BOARDS_LAKEFS_REPOSITORY"},
	{"LAKEFS_BRANCH", "A2A_BOARDS_LAKEFS_BRANCH"},
	{"LAKEFS_PREFIX", "A2A_BOARDS_LAKEFS_PREFIX"},
}

// readEnv applies the environment over cfg. An empty variable counts as not set.
func readEnv(cfg *Config, environ map[string]string) []*Problem {
	var problems []*Problem
	settings := map[string]string{} // setting's variable → value
	origin := map[string]string{}   // setting's variable → the variable it came from
	take := func(setting, name, value string) {
		if value != "" && settings[setting] == "" {
			settings[setting], origin[setting] = value, name
		}
	}
	for name, value := range environ {
		if strings.HasPrefix(name, envPrefix) {
			take(name, name, value)
		}
	}
	for _, a := range aliases {
		value := environ[a.name]
		if a.name == "STORAGE_BACKEND" && value == "local" {
			value = "files"
		}
		take(a.setting, a.name, value)
	}
	if path := environ["LAKEFS_SECRET_ACCESS_KEY_FILE"]; path != "" {
		secret, err := readSecretFile(path)
		if err != nil {
			problems = append(problems, &Problem{Path: "LAKEFS_SECRET_ACCESS_KEY_FILE", Message: err.Error()})
		}
		take("A2A_BOARDS_LAKEFS_SECRET_ACCESS_KEY", "LAKEFS_SECRET_ACCESS_KEY_FILE", secret)
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		// One variable at a time, so that an error can be told its variable.
		err := env.ParseWithOptions(cfg, env.Options{
			Prefix:      envPrefix,
			Environment: map[string]string{name: settings[name]},
		})
		if err != nil {
			problems = append(problems, &Problem{Path: origin[name], Message: envMessage(err)})
		}
	}
	problems = append(problems, readPort(cfg, environ["PORT"])...)
	return append(problems, readKeys(cfg, environ)...)
}

// envMessage is what is wrong with a variable's value, without the library's own
// words around it.
func envMessage(err error) string {
	var parse env.ParseError
	if errors.As(err, &parse) {
		err = parse.Err
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		return strconv.Quote(number.Num) + " is not a valid value: " + number.Err.Error()
	}
	return err.Error()
}

// readPort sets the port of the listen address and keeps its host, so that a PORT
// that happens to be set does not open the server to the network.
func readPort(cfg *Config, port string) []*Problem {
	if port == "" {
		return nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return []*Problem{{Path: "PORT", Message: strconv.Quote(port) + " is not a port number"}}
	}
	host, _, err := net.SplitHostPort(cfg.Server.Addr)
	if err != nil {
		return nil // validation says what is wrong with the address
	}
	cfg.Server.Addr = net.JoinHostPort(host, port)
	return nil
}

// readKeys adds the keys of API_KEY, separated by commas, and of API_KEY_FILE,
// separated by commas or line breaks. They are named api-key, api-key-2, …
func readKeys(cfg *Config, environ map[string]string) []*Problem {
	list := environ["API_KEY"]
	var problems []*Problem
	if path := environ["API_KEY_FILE"]; path != "" {
		text, err := readSecretFile(path)
		if err != nil {
			problems = append(problems, &Problem{Path: "API_KEY_FILE", Message: err.Error()})
		}
		list += "," + text
	}
	n := 0
	for key := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		if key = strings.TrimSpace(key); key == "" {
			continue
		}
		n++
		name := "api-key"
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		cfg.Auth.Keys = append(cfg.Auth.Keys, Key{Name: name, Key: Secret(key)})
	}
	return problems
}

// EnvNames returns the variable of every setting that has one, sorted, aliases
// left out.
func EnvNames() []string {
	params, err := env.GetFieldParamsWithOptions(&Config{}, env.Options{Prefix: envPrefix, Environment: map[string]string{}})
	if err != nil {
		return nil // only a faulty struct tag could be the reason
	}
	var names []string
	for _, p := range params {
		if p.OwnKey != "" {
			names = append(names, p.Key)
		}
	}
	slices.Sort(names)
	return names
}

// Unknown returns the variables of environ that look like a setting's but are
// none, with the nearest setting's name or "". Variables of other programs share
// the prefix, so only the ones that begin like a section of the configuration
// count.
func Unknown(environ map[string]string) map[string]string {
	names := EnvNames()
	known := map[string]bool{}
	sections := map[string]bool{}
	for _, name := range names {
		known[name] = true
		section, _, _ := strings.Cut(strings.TrimPrefix(name, envPrefix), "_")
		sections[envPrefix+section+"_"] = true
	}
	for _, a := range aliases {
		known[a.name] = true
	}
	found := map[string]string{}
	for name := range environ {
		_, after, _ := strings.Cut(name, envPrefix)
		section, _, long := strings.Cut(after, "_")
		if long && strings.HasPrefix(name, envPrefix) && sections[envPrefix+section+"_"] && !known[name] {
			found[name] = nearest(name, names)
		}
	}
	return found
}
