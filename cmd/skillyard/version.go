package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is the JSON output.
type versionInfo struct {
	Version   string   `json:"version"`
	Revision  string   `json:"revision,omitempty"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Protocols []string `json:"protocols"`
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo{
				Version: buildVersion(), Revision: setting("vcs.revision"), Go: runtime.Version(),
				Platform:  runtime.GOOS + "/" + runtime.GOARCH,
				Protocols: []string{"A2A 1.0", "A2A 0.3", "EMM"},
			}
			if asJSON {
				return p.printJSON(v)
			}
			_, err := fmt.Fprintf(p.out, "skillyard %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// buildVersion is the version of this binary: the linker's, else that of the
// module it was installed from.
func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// setting returns what the go command recorded of the build, or "".
func setting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
