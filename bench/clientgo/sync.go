package main

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"
)

// syncOnce measures the first sync.
func syncOnce(s settings) error {
	informer, err := newInformer(s)
	if err != nil {
		return err
	}
	cpu, begun := cpuSeconds(), time.Now()
	if err := start(s, informer); err != nil {
		return err
	}
	say("seconds", time.Since(begun).Seconds())
	say("cpu", cpuSeconds()-cpu)
	time.Sleep(time.Duration(s.settle) * time.Millisecond)
	resident, peak := memory()
	say("resident", resident)
	say("peak", peak)
	debug.FreeOSMemory()
	freed, _ := memory()
	say("resident_freed", freed)
	return check(informer, s)
}

// check also keeps the informer alive.
func check(informer cache.SharedIndexInformer, s settings) error {
	if count := len(informer.GetStore().ListKeys()); count != s.count {
		return fmt.Errorf("%d objects instead of %d", count, s.count)
	}
	return nil
}

// One object in so many has changed when a copy is made anew.
const changedEach = 100

// relist measures how long it takes to make the copy anew when one object in a hundred has changed.
func relist(s settings) error {
	informer, err := newInformer(s)
	if err != nil {
		return err
	}
	var changed atomic.Int64
	done := make(chan time.Time, 1)
	wanted := int64(s.count / changedEach)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
		if versionOf(old) != versionOf(new) && changed.Add(1) == wanted {
			done <- time.Now()
		}
	}})
	if err != nil {
		return err
	}
	if err := start(s, informer); err != nil {
		return err
	}
	time.Sleep(time.Duration(s.settle) * time.Millisecond)
	forgetPeak()
	before, _ := memory()
	cpu := cpuSeconds()
	if err := tell(s, "/bench/expire"); err != nil {
		return err
	}
	ended := <-done
	say("cpu", cpuSeconds()-cpu)
	_, asked, err := serverTimes(s)
	if err != nil {
		return err
	}
	say("seconds", ended.Sub(asked).Seconds())
	time.Sleep(time.Duration(s.settle) * time.Millisecond)
	resident, peak := memory()
	say("resident_before", before)
	say("resident", resident)
	say("peak", peak)
	return check(informer, s)
}
