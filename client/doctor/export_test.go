package doctor

import "time"

// Quick makes an examination take less time and send less.
func Quick(o Options) Options {
	o.pace = pace{whole: 800 * time.Millisecond, every: 200 * time.Millisecond, lateWarn: 300 * time.Millisecond, lateFail: 500 * time.Millisecond, large: 3 << 20}
	return o
}
