package remote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/skillyard/skillyard/a2a"
)

// saver writes the files of an answer into one directory, and nowhere else: names are
// an agent's, and so neither paths nor links count in them.
type saver struct {
	root  *os.Root
	force bool
	used  map[string]bool
}

// write writes the file of a part and returns its path and size. A file that was there
// before stays, unless force says otherwise.
func (v *saver) write(p a2a.Part) (path string, size int, err error) {
	b, err := base64.StdEncoding.DecodeString(p.Raw)
	if err != nil {
		return "", 0, fmt.Errorf("file %s: the agent's base64 is none: %w", quoted(p.Filename), err)
	}
	name := v.free(safeName(p.Filename, p.MediaType))
	path = filepath.Join(v.root.Name(), name)
	if v.force {
		// Removed first, so that a link there is replaced and not followed.
		if err := v.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", 0, err
		}
	}
	f, err := v.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return "", 0, failure(path+" is there already", "choose another directory, or replace it with --force")
	}
	if err != nil {
		return "", 0, err
	}
	_, err = f.Write(b)
	return path, len(b), errors.Join(err, f.Close())
}

// free returns a name that no other file of the same answer has.
func (v *saver) free(name string) string {
	ext := filepath.Ext(name)
	base := strings.TrimSuffix(name, ext)
	for i := 2; v.used[strings.ToLower(name)]; i++ {
		name = fmt.Sprintf("%s-%d%s", base, i, ext)
	}
	v.used[strings.ToLower(name)] = true
	return name
}

// safeName makes a plain file name of what an agent calls a file: the last element of a
// path of any system, without what a shell, a terminal or Windows would stumble over,
// and not hidden.
func safeName(name, mediaType string) string {
	const most = 120
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune(`<>:"|?*`, r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(harmless(name), "_"))
	if runes := []rune(name); len(runes) > most {
		ext := []rune(filepath.Ext(name))
		if len(ext) > 16 {
			ext = nil
		}
		name = string(runes[:most-len(ext)]) + string(ext)
	}
	name = strings.TrimRight(strings.TrimLeft(name, ".- "), ". ")
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	switch {
	case name == "":
		name = "file" + extension(mediaType)
	case len(stem) <= 4 && (stem == "con" || stem == "prn" || stem == "aux" || stem == "nul" ||
		strings.HasPrefix(stem, "com") && len(stem) == 4 || strings.HasPrefix(stem, "lpt") && len(stem) == 4):
		name = "_" + name
	}
	return name
}

// extension is the usual one of a media type, "" if none is known. The system's list is
// in the order of the alphabet, where the usual one need not be first.
func extension(mediaType string) string {
	exts, err := mime.ExtensionsByType(mediaType)
	if err != nil || len(exts) == 0 {
		return ""
	}
	for _, usual := range [...]string{".txt", ".md", ".html", ".jpg", ".png", ".json", ".xml", ".zip"} {
		if slices.Contains(exts, usual) {
			return usual
		}
	}
	return exts[0]
}
