package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// How many workers take from the queue while it is filled.
const queueWorkers = 4

// queue says what one key costs, in nanoseconds, in a queue of s.count keys.
func queue(s settings) error {
	first, again := keysOf(s.count), keysOf(s.count)
	runtime.GC()
	before, _ := memory()
	q := newQueue()
	each := func(begun time.Time) float64 { return float64(time.Since(begun).Nanoseconds()) / float64(s.count) }
	begun := time.Now()
	for _, key := range first {
		q.Add(key)
	}
	say("add_ns", each(begun))
	after, _ := memory()
	say("resident", after-before)
	begun = time.Now()
	for _, key := range again {
		q.Add(key)
	}
	say("again_ns", each(begun))
	if q.Len() != s.count {
		return fmt.Errorf("%d keys instead of %d", q.Len(), s.count)
	}
	begun = time.Now()
	for range s.count {
		key, _ := q.Get()
		q.Forget(key)
		q.Done(key)
	}
	say("take_ns", each(begun))
	if q.Len() != 0 {
		return fmt.Errorf("%d keys are left", q.Len())
	}

	keys := keysOf(s.count)
	runtime.GC()
	var taken atomic.Int64
	var workers sync.WaitGroup
	begun = time.Now()
	for range queueWorkers {
		workers.Go(func() {
			for {
				key, ended := q.Get()
				if ended {
					return
				}
				q.Forget(key)
				q.Done(key)
				taken.Add(1)
			}
		})
	}
	for _, key := range keys {
		q.Add(key)
	}
	q.ShutDown()
	workers.Wait()
	say("together_ns", each(begun))
	if taken.Load() != int64(s.count) {
		return fmt.Errorf("%d keys were taken instead of %d", taken.Load(), s.count)
	}
	return nil
}

func newQueue() workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
}

func keysOf(count int) []string {
	keys := make([]string, count)
	for number := range keys {
		keys[number] = fmt.Sprintf("team-%03d/web-%07d", number/1000, number)
	}
	return keys
}
