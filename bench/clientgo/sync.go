package main

import (
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"
)

// syncOnce measures the first sync.
func syncOnce(s settings) error {
	c, err := newCopies(s)
	if err != nil {
		return err
	}
	cpu, begun := cpuSeconds(), time.Now()
	c.start()
	seconds, worked := time.Since(begun).Seconds(), cpuSeconds()-cpu
	if err := c.check(); err != nil {
		return err
	}
	say("seconds", seconds)
	say("cpu", worked)
	settle(s)
	resident, peak := memory()
	say("resident", resident)
	say("peak", peak)
	debug.FreeOSMemory()
	freed, _ := memory()
	say("resident_freed", freed)
	return c.check()
}

// relist measures how long it takes until handlers have heard of a relist.
func relist(s settings) error {
	c, err := newCopies(s)
	if err != nil {
		return err
	}
	type end struct {
		kind int
		at   time.Time
	}
	done, waiting := make(chan end, len(c.informers)), 0
	for number, informer := range c.informers {
		wanted := int64(c.server.Kinds[number].Changed[strconv.Itoa(s.changed)])
		if wanted == 0 {
			continue
		}
		waiting++
		var changed atomic.Int64
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
			if versionOf(old) != versionOf(new) && changed.Add(1) == wanted {
				done <- end{number, time.Now()}
			}
		}})
		if err != nil {
			return err
		}
	}
	c.start()
	if err := c.check(); err != nil {
		return err
	}
	settle(s)
	forgetPeak()
	before, _ := memory()
	cpu := cpuSeconds()
	if err := c.server.send("/bench/expire?changed=" + strconv.Itoa(s.changed)); err != nil {
		return err
	}
	var ends []end
	for range waiting {
		ends = append(ends, <-done)
	}
	say("cpu", cpuSeconds()-cpu)
	// The wait before a list is not counted: each library draws it at random.
	if err := c.server.describe(); err != nil {
		return err
	}
	slowest := 0.0
	for _, end := range ends {
		slowest = max(slowest, end.at.Sub(time.Unix(0, c.server.Kinds[end.kind].Asked)).Seconds())
	}
	say("seconds", slowest)
	settle(s)
	resident, peak := memory()
	say("resident_before", before)
	say("resident", resident)
	say("peak", peak)
	return c.check()
}
