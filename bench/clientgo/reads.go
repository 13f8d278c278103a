package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic/dynamiclister"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// How the objects are spread; the replay server's figures.
const (
	perNamespace = 1000
	perNode      = 100
)

// So many different objects are read in turn.
const places = 1000

// Beside the writer, the clock is looked at after calls that take about so many nanoseconds alone: a look takes as long as
// the quickest of them.
const lookNanos = 20_000

// One way of reading: call it with a number that goes up; it returns how many objects it found.
type read struct {
	name string
	call func(int) int
}

// reads measures each way of reading alone, and then beside a writer at full speed.
func reads(s settings) error {
	informer, err := newInformer(s)
	if err != nil {
		return err
	}
	if err := addNodeIndex(informer); err != nil {
		return err
	}
	var written atomic.Int64
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { written.Add(1) }})
	if err != nil {
		return err
	}
	if err := start(s, informer); err != nil {
		return err
	}
	ways := waysToRead(s, informer)
	if s.read != "" {
		way, err := called(s.read, ways)
		if err == nil {
			// No garbage is collected meanwhile.
			debug.SetGCPercent(-1)
			runtime.GC()
			// What the first look at each object takes is not counted.
			for number := range min(s.calls, places) {
				way.call(number)
			}
			repeatRead(way, s.calls)
		}
		return err
	}
	atOnce := make([]int, len(ways))
	for number, way := range ways {
		nanos := alone(way)
		atOnce[number] = max(1, int(lookNanos/nanos))
		say(way.name+"_ns", nanos)
		say(way.name+"_found", float64(way.call(0)))
	}
	if err := tell(s, "/bench/events?count=1000000000000&rate=0"); err != nil {
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
	return tell(s, "/bench/pause")
}

// repeatRead reads in one way, and measures nothing. Whoever counts instructions knows it by its name.
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

func waysToRead(s settings, informer cache.SharedIndexInformer) []read {
	namespaces, nodes := (s.count+perNamespace-1)/perNamespace, (s.count+perNode-1)/perNode
	prefix := map[string]string{"pods": "web-7d4b9c6f5d-", "widgets": "widget-"}[s.kind]
	// All names are in one piece of memory, so that finding out what to ask for takes little beside asking.
	var text strings.Builder
	var namespaceEnd, nameEnd, nodeEnd [places]int
	for at := range places {
		number := at * 7919 % s.count
		fmt.Fprintf(&text, "team-%03d", number%namespaces)
		namespaceEnd[at] = text.Len()
		fmt.Fprintf(&text, "%s%07d", prefix, number)
		nameEnd[at] = text.Len()
		fmt.Fprintf(&text, "node-%05d", number%nodes)
		nodeEnd[at] = text.Len()
	}
	names, begin := text.String(), 0
	var namespaceOf, nameOf, nodeNames [places]string
	for at := range places {
		namespaceOf[at] = names[begin:namespaceEnd[at]]
		nameOf[at] = names[namespaceEnd[at]:nameEnd[at]]
		nodeNames[at] = names[nameEnd[at]:nodeEnd[at]]
		begin = nodeEnd[at]
	}
	selector := labels.SelectorFromSet(labels.Set{"team": "payments", "shard": "s03"})
	index := read{"index", func(at int) int {
		found, _ := informer.GetIndexer().ByIndex(byNode, nodeNames[at%places])
		count := 0
		for _, object := range found {
			if object != nil {
				count++
			}
		}
		return count
	}}
	if s.kind == "pods" {
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
			{"look", func(at int) int {
				pod, err := lister.Pods(namespaceOf[at%places]).Get(nameOf[at%places])
				if err != nil {
					return 0
				}
				return min(1, len(nodeOf(pod)))
			}},
			{"namespace", func(at int) int {
				found, _ := lister.Pods(namespaceOf[at%places]).List(labels.Everything())
				return seen(found)
			}},
			index,
			{"all", func(int) int { return list(labels.Everything()) }},
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
		{"look", func(at int) int {
			widget, err := lister.Namespace(namespaceOf[at%places]).Get(nameOf[at%places])
			if err != nil {
				return 0
			}
			return min(1, len(nodeOf(widget)))
		}},
		{"namespace", func(at int) int {
			found, _ := lister.Namespace(namespaceOf[at%places]).List(labels.Everything())
			return seen(found)
		}},
		index,
		{"all", func(int) int { return list(labels.Everything()) }},
		{"label", func(int) int { return list(selector) }},
	}
}
