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
	return withReadingHandlers(s, func(c *copies, all *sync.WaitGroup) error {
		cpu, begun := cpuSeconds(), time.Now()
		if err := c.server.send(fmt.Sprintf("/bench/events?count=%d&rate=%d", s.events, s.rate)); err != nil {
			return err
		}
		all.Wait()
		say("per_second", float64(s.events)/time.Since(begun).Seconds())
		say("cpu", cpuSeconds()-cpu)
		settle(s)
		resident, peak := memory()
		say("resident", resident)
		say("peak", peak)
		return nil
	})
}

// restart measures how long it takes until handlers have the updates that were missed while watches had ended.
func restart(s settings) error {
	return withReadingHandlers(s, func(c *copies, all *sync.WaitGroup) error {
		// A watch that ends within a second is taken for a broken one.
		time.Sleep(2 * time.Second)
		cpu, begun := cpuSeconds(), time.Now()
		if err := c.server.send(fmt.Sprintf("/bench/restart?count=%d", s.events)); err != nil {
			return err
		}
		all.Wait()
		say("seconds", time.Since(begun).Seconds())
		say("cpu", cpuSeconds()-cpu)
		return nil
	})
}

// withReadingHandlers syncs, adds handlers that read a field, and lets the caller measure until all have got their updates.
func withReadingHandlers(s settings, measure func(*copies, *sync.WaitGroup) error) error {
	c, err := followed(s)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	err = addHandlers(c, s, &all, func() func(any) {
		length := 0
		return func(object any) { length += len(fieldOf(object)) }
	})
	if err != nil {
		return err
	}
	settle(s)
	return measure(c, &all)
}

// How many events pass before latency is noted.
const warmUp = 1000

// latency measures how long events take from the server's socket to handlers.
func latency(s settings) error {
	c, err := followed(s)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var lock sync.Mutex
	var own []*[]float64
	err = addHandlers(c, s, &all, func() func(any) {
		delays := make([]float64, 0, s.events)
		lock.Lock()
		own = append(own, &delays)
		lock.Unlock()
		return func(object any) {
			delays = append(delays, time.Since(c.server.sentAt(versionOf(object))).Seconds())
		}
	})
	if err != nil {
		return err
	}
	settle(s)
	cpu := cpuSeconds()
	if err := c.server.send(fmt.Sprintf("/bench/events?count=%d&rate=%d", s.events, s.rate)); err != nil {
		return err
	}
	all.Wait()
	say("cpu", cpuSeconds()-cpu)
	var delays []float64
	for _, some := range own {
		// The warm-up, in proportion.
		skipped := min(len(*some), warmUp/len(c.informers))
		delays = append(delays, (*some)[skipped:]...)
	}
	slices.Sort(delays)
	at := func(share float64) float64 { return delays[int(float64(len(delays)-1)*share)] }
	for _, percentile := range []struct {
		name  string
		share float64
	}{{"p10", 0.1}, {"p25", 0.25}, {"p50", 0.5}, {"p75", 0.75}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}} {
		say(percentile.name, at(percentile.share))
	}
	return nil
}

// followed are informers that have synced.
func followed(s settings) (*copies, error) {
	c, err := newCopies(s)
	if err != nil {
		return nil, err
	}
	c.start()
	return c, c.check()
}

// settle leaves the program alone for a moment: watches begin after a LIST, and handlers hear of the objects that are there.
func settle(s settings) {
	time.Sleep(time.Duration(s.settle) * time.Millisecond)
}

// addHandlers adds handlers of updates, and returns when they have heard of the objects that are there.
func addHandlers(c *copies, s settings, all *sync.WaitGroup, handler func() func(any)) error {
	for number, informer := range c.informers {
		wanted := c.server.Kinds[number].updatesOf(s.events)
		if wanted == 0 {
			continue
		}
		for range s.handlers {
			all.Add(1)
			handle, seen := handler(), 0
			registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				UpdateFunc: func(_, new any) {
					seen++
					handle(new)
					if seen == wanted {
						all.Done()
					}
				},
			})
			if err != nil {
				return err
			}
			for !registration.HasSynced() {
				time.Sleep(time.Millisecond)
			}
		}
	}
	return nil
}
