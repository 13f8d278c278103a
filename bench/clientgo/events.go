package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
)

// events measures how many events a second reach all handlers.
func events(s settings) error {
	informer, err := followed(s)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Add(s.handlers)
	err = addHandlers(informer, s.handlers, func() func(any) {
		seen, length := 0, 0
		return func(object any) {
			seen++
			length += len(nodeOf(object))
			if seen == s.events {
				all.Done()
			}
		}
	})
	if err != nil {
		return err
	}
	cpu, begun := cpuSeconds(), time.Now()
	if err := tell(s, fmt.Sprintf("/bench/events?count=%d&rate=%d", s.events, s.rate)); err != nil {
		return err
	}
	all.Wait()
	say("per_second", float64(s.events)/time.Since(begun).Seconds())
	say("cpu", cpuSeconds()-cpu)
	return nil
}

// So many events pass before latency is noted.
const warmUp = 1000

// latency measures how long events take from the server's socket to handlers.
func latency(s settings) error {
	informer, err := followed(s)
	if err != nil {
		return err
	}
	started, _, err := serverTimes(s)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Add(s.handlers)
	var lock sync.Mutex
	var delays []float64
	err = addHandlers(informer, s.handlers, func() func(any) {
		seen, own := 0, make([]float64, 0, s.events)
		return func(object any) {
			seen++
			if seen > warmUp {
				own = append(own, time.Since(sentAt(started, versionOf(object))).Seconds())
			}
			if seen == s.events {
				lock.Lock()
				delays = append(delays, own...)
				lock.Unlock()
				all.Done()
			}
		}
	})
	if err != nil {
		return err
	}
	cpu := cpuSeconds()
	if err := tell(s, fmt.Sprintf("/bench/events?count=%d&rate=%d", s.events, s.rate)); err != nil {
		return err
	}
	all.Wait()
	say("cpu", cpuSeconds()-cpu)
	slices.Sort(delays)
	at := func(share float64) float64 { return delays[int(float64(len(delays)-1)*share)] }
	say("p50", at(0.5))
	say("p99", at(0.99))
	return nil
}

// followed is an informer that has synced, and watches: after a LIST the watch begins later.
func followed(s settings) (cache.SharedIndexInformer, error) {
	informer, err := newInformer(s)
	if err != nil {
		return nil, err
	}
	if err := start(s, informer); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(s.settle) * time.Millisecond)
	return informer, nil
}

// addHandlers adds handlers of updates, and returns when they have heard of what is there.
func addHandlers(informer cache.SharedIndexInformer, count int, handler func() func(any)) error {
	for range count {
		handle := handler()
		registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(_, new any) { handle(new) },
		})
		if err != nil {
			return err
		}
		for !registration.HasSynced() {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}
