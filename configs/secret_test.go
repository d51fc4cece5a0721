package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rs/zerolog"
)

func TestSecret_neverPrints(t *testing.T) {
	cfg := Default()
	cfg.Auth.Keys = []Key{{Name: "n", Key: "hunter2"}}
	cfg.Boards.LakeFS.SecretAccessKey = "hunter2"
	cfg.Skills[0].Settings = rawSettings(`{"token":"hunter2"}`)
	s := Secret("hunter2")
	var printed []string
	for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%t", "%10s", "%T"} {
		printed = append(printed, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, cfg), fmt.Sprintf(verb, *cfg),
			fmt.Sprintf(verb, cfg.Auth.Keys), fmt.Sprintf(verb, cfg.Skills[0].Settings))
	}
	j, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	y, err := yaml.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Interface("config", cfg).Interface("secret", s).Stringer("again", s).Any("keys", cfg.Auth.Keys).Msg("x")
	printed = append(printed, string(j), string(y), log.String(), fmt.Sprint(map[Secret]int{s: 1}))
	for _, text := range printed {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) || strings.Contains(text, "104 117 110") {
			t.Errorf("the secret shows in %.300s", text)
		}
	}
	if !strings.Contains(string(y), "***") || !strings.Contains(string(j), `"***"`) {
		t.Errorf("no mask in\n%s\n%s", y, j)
	}
	if s.Reveal() != "hunter2" {
		t.Errorf("Reveal gives %q", s.Reveal())
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "65536": 65536, "64KiB": 65536, "1.5 MiB": 3 << 19, "10MB": 10e6, "7B": 7, "-1": -1} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1TB", "NaN", "1e300", "KiB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
	for size, want := range map[Size]string{0: "0", 10 << 20: "10MiB", 1000: "1000", 3 << 30: "3GiB"} {
		if got := size.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
