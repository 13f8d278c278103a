package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic/dynamiclister"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// How many different objects are read in turn, all of them up to this number, and how far apart they are in the order of
// their keys: a prime number, so that each object has its turn.
const (
	mostPlaces = 30_000
	stride     = 7919
)

// Beside the writer, the clock is read after calls that take about this many nanoseconds alone: reading it takes as long as
// the quickest of them.
const clockNanos = 20_000

// One way of reading: call it with a number that goes up; it returns how many objects it found.
type read struct {
	name string
	call func(int) int
}

// reads measures each way of reading alone, and then beside a writer at full speed.
func reads(s settings) error {
	c, err := newCopies(s)
	if err != nil {
		return err
	}
	if len(c.informers) != 1 {
		return fmt.Errorf("one kind is read at a time")
	}
	informer := c.informers[0]
	if err := addIndex(informer); err != nil {
		return err
	}
	var written atomic.Int64
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { written.Add(1) }})
	if err != nil {
		return err
	}
	c.start()
	if err := c.check(); err != nil {
		return err
	}
	settle(s)
	ways := waysToRead(c.server.Kinds[0].Kind, informer)
	if s.read != "" {
		way, err := called(s.read, ways)
		if err == nil {
			// No garbage is collected meanwhile.
			debug.SetGCPercent(-1)
			runtime.GC()
			// What the first read of each object takes is not counted.
			for number := range min(s.calls, mostPlaces) {
				way.call(number)
			}
			repeatRead(way, s.calls)
		}
		return err
	}
	atOnce := make([]int, len(ways))
	for number, way := range ways {
		nanos := alone(way)
		atOnce[number] = max(1, int(clockNanos/nanos))
		say(way.name+"_ns", nanos)
		say(way.name+"_found", float64(way.call(0)))
	}
	if err := c.server.send("/bench/events?count=1000000000000&rate=0"); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	period := time.Duration(s.millis) * time.Millisecond
	before, begun := written.Load(), time.Now()
	time.Sleep(period)
	say("writer_alone", float64(written.Load()-before)/time.Since(begun).Seconds())
	for number, way := range ways {
		before, begun, calls := written.Load(), time.Now(), 0
		for time.Since(begun) < period {
			for range atOnce[number] {
				way.call(calls)
				calls++
			}
		}
		elapsed := time.Since(begun)
		say(way.name+"_busy_ns", float64(elapsed.Nanoseconds())/float64(calls))
		say(way.name+"_writer", float64(written.Load()-before)/elapsed.Seconds())
	}
	return c.server.send("/bench/pause")
}

// repeatRead reads in one way, and measures nothing. Callgrind finds it by its name.
//
//go:noinline
func repeatRead(way read, calls int) {
	for number := range calls {
		way.call(number)
	}
}

// called finds a way of reading by its name.
func called(name string, ways []read) (read, error) {
	for _, way := range ways {
		if way.name == name {
			return way, nil
		}
	}
	return read{}, fmt.Errorf("there is no way of reading that is called %q", name)
}

// alone is the time of one call in nanoseconds, the best of several batches.
func alone(way read) float64 {
	const batches, batch = 7, 40 * time.Millisecond
	calls, best := 1, 0.0
	for try := 0; try < batches; {
		begun := time.Now()
		for number := range calls {
			way.call(number)
		}
		took := time.Since(begun)
		if took < batch {
			calls *= 2
			continue
		}
		each := float64(took.Nanoseconds()) / float64(calls)
		if try == 0 || each < best {
			best = each
		}
		try++
	}
	return best
}

// seen goes through what was found.
func seen[T any](found []*T) int {
	count := 0
	for _, object := range found {
		if object != nil {
			count++
		}
	}
	return count
}

// withField counts the objects that have the field that handlers read.
func withField[T any](found []*T) int {
	count := 0
	for _, object := range found {
		if len(fieldOf(object)) > 0 {
			count++
		}
	}
	return count
}

func waysToRead(kind string, informer cache.SharedIndexInformer) []read {
	keys := informer.GetStore().ListKeys()
	slices.Sort(keys)
	// All names are in one piece of memory, so that finding out what to ask for takes little beside asking.
	var text strings.Builder
	places := min(len(keys), mostPlaces)
	namespaceEnd, nameEnd, fieldEnd := make([]int, places), make([]int, places), make([]int, places)
	for at := range places {
		key := keys[at*stride%len(keys)]
		namespace, name, _ := cache.SplitMetaNamespaceKey(key)
		object, _, _ := informer.GetStore().GetByKey(key)
		text.WriteString(namespace)
		namespaceEnd[at] = text.Len()
		text.WriteString(name)
		nameEnd[at] = text.Len()
		text.WriteString(fieldOf(object))
		fieldEnd[at] = text.Len()
	}
	names, begin := text.String(), 0
	namespaceOf, nameOf, fields := make([]string, places), make([]string, places), make([]string, places)
	for at := range places {
		namespaceOf[at] = names[begin:namespaceEnd[at]]
		nameOf[at] = names[namespaceEnd[at]:nameEnd[at]]
		fields[at] = names[nameEnd[at]:fieldEnd[at]]
		begin = fieldEnd[at]
	}
	selector := labels.SelectorFromSet(labels.Set{"team": "payments", "shard": "s03"})
	index := read{"index", func(at int) int {
		found, _ := informer.GetIndexer().ByIndex(byField, fields[at%places])
		count := 0
		for _, object := range found {
			if object != nil {
				count++
			}
		}
		return count
	}}
	if kind == "Pod" {
		lister := corelisters.NewPodLister(informer.GetIndexer())
		list := func(selector labels.Selector) int {
			found, _ := lister.List(selector)
			return seen(found)
		}
		return []read{
			{"get", func(at int) int {
				if _, err := lister.Pods(namespaceOf[at%places]).Get(nameOf[at%places]); err != nil {
					return 0
				}
				return 1
			}},
			{"get_field", func(at int) int {
				pod, err := lister.Pods(namespaceOf[at%places]).Get(nameOf[at%places])
				if err != nil {
					return 0
				}
				return min(1, len(fieldOf(pod)))
			}},
			{"namespace", func(at int) int {
				found, _ := lister.Pods(namespaceOf[at%places]).List(labels.Everything())
				return seen(found)
			}},
			index,
			{"all", func(int) int { return list(labels.Everything()) }},
			{"all_field", func(int) int {
				found, _ := lister.List(labels.Everything())
				return withField(found)
			}},
			{"label", func(int) int { return list(selector) }},
		}
	}
	lister := dynamiclister.New(informer.GetIndexer(), widgets)
	list := func(selector labels.Selector) int {
		found, _ := lister.List(selector)
		return len(found)
	}
	return []read{
		{"get", func(at int) int {
			if _, err := lister.Namespace(namespaceOf[at%places]).Get(nameOf[at%places]); err != nil {
				return 0
			}
			return 1
		}},
		{"get_field", func(at int) int {
			widget, err := lister.Namespace(namespaceOf[at%places]).Get(nameOf[at%places])
			if err != nil {
				return 0
			}
			return min(1, len(fieldOf(widget)))
		}},
		{"namespace", func(at int) int {
			found, _ := lister.Namespace(namespaceOf[at%places]).List(labels.Everything())
			return seen(found)
		}},
		index,
		{"all", func(int) int { return list(labels.Everything()) }},
		{"all_field", func(int) int {
			found, _ := lister.List(labels.Everything())
			return withField(found)
		}},
		{"label", func(int) int { return list(selector) }},
	}
}
