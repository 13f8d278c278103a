package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// memory is what this process holds now and held at most, in bytes.
func memory() (resident, peak float64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "VmRSS:":
			resident = kilobytes * 1024
		case "VmHWM:":
			peak = kilobytes * 1024
		}
	}
	return resident, peak
}

// forgetPeak resets the peak to the current resident size.
func forgetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// cpuSeconds is how long all threads of this process have worked.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	seconds := func(time syscall.Timeval) float64 { return float64(time.Sec) + float64(time.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}
