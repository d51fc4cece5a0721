package configs

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"os"
)

// Example is the embedded default configuration: every key with its default and a
// comment. Loading it gives Default.
//
//go:embed skillyard.yaml
var example string

//go:embed examples/*.yaml
var examples embed.FS

// Example returns a complete configuration file: every key with its default and a
// comment.
func Example() string { return example }

// Options says where a configuration comes from.
type Options struct {
	// Path is the YAML file; "" reads none.
	Path string
	// Data is the content of the file, if it was read already; Path is then only
	// its name in messages. Nil reads Path.
	Data []byte
	// Env are environment variables by name: they override the file, and the file
	// may refer to them. Nil is an empty environment; see Environ.
	Env map[string]string
	// Override changes the configuration after the file and the environment and
	// before it is checked, as flags do; nil changes nothing.
	Override func(*Config)
}

// Environ turns the form of os.Environ into a map.
func Environ(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, entry := range list {
		// On Windows names may begin with "="; those are of no use here.
		for i := 1; i < len(entry); i++ {
			if entry[i] == '=' {
				m[entry[:i]] = entry[i+1:]
				break
			}
		}
	}
	return m
}

// Load reads a configuration: Default, then the file, then the environment, then
// Override. The error joins all the problems found (see Problems); problems of
// the file's form hide those of its values.
func Load(o Options) (*Config, error) {
	cfg := Default()
	data := o.Data
	if data == nil && o.Path != "" {
		var err error
		if data, err = readConfig(o.Path); err != nil {
			return nil, fmt.Errorf("read config: %w", err)
		}
	}
	if data != nil {
		doc, err := readYAML(cfg, o.Path, data, o.Env)
		if err != nil {
			return nil, err
		}
		cfg.from = doc
	}
	problems := readEnv(cfg, o.Env)
	if o.Override != nil {
		o.Override(cfg)
	}
	fillSkills(cfg)
	problems = append(problems, cfg.check()...)
	if err := join(problems); err != nil {
		return nil, err
	}
	return cfg, nil
}

// Problem returns a problem of the value at path, such as
// "skills[0].settings.operation", with its place in the file that was loaded. It
// is for checks that only other packages can make.
func (c *Config) Problem(path, message string) *Problem { return c.from.problem(path, message) }

// readConfig reads a file, "-" being standard input.
func readConfig(path string) ([]byte, error) {
	in := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	// One byte more than allowed, so that a larger file is refused and not cut.
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	return bytes.TrimPrefix(data, []byte("\uFEFF")), nil
}

// fillSkills completes skills that have the id of a built-in one and not another
// kind: what they leave out is taken from it, so that "- id: list_board" is a
// whole skill.
func fillSkills(cfg *Config) {
	known := map[string]Skill{}
	for _, s := range builtin() {
		known[s.ID] = s
	}
	for i := range cfg.Skills {
		s := &cfg.Skills[i]
		b, ok := known[s.ID]
		if !ok || s.Kind != "" && s.Kind != b.Kind {
			continue
		}
		s.Kind = b.Kind
		fill(&s.Name, b.Name)
		fill(&s.Description, b.Description)
		fillList(&s.Tags, b.Tags)
		fillList(&s.Examples, b.Examples)
		fillList(&s.InputModes, b.InputModes)
		fillList(&s.OutputModes, b.OutputModes)
		if s.Settings.raw == nil {
			s.Settings = b.Settings
		}
	}
}

func fill(s *string, from string) {
	if *s == "" {
		*s = from
	}
}

// fillList leaves an empty list that was written down ([]) alone.
func fillList(s *[]string, from []string) {
	if *s == nil {
		*s = from
	}
}
