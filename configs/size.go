package configs

import (
	"fmt"
	"strconv"
	"strings"
)

// Size is a number of bytes, written as a number or with a unit: 64KiB, 10MiB,
// 1GiB (binary), or kB, MB, GB (decimal).
type Size int64

// units is ordered so that a unit is tried before its own suffix "B".
var units = [...]struct {
	name string
	size float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

// ParseSize reads a size.
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n != n || n*unit > 1<<53 || n*unit < -(1<<53) {
		return 0, fmt.Errorf("%q is not a size such as 65536, 64KiB or 10MiB", text)
	}
	return Size(n * unit), nil
}
