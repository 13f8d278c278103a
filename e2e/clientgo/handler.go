package main

import (
	"errors"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// handlerSpec says which handler to add.
type handlerSpec struct {
	Name string `json:"name"`
	// Milliseconds; nothing for the informer's own, 0 for never.
	Resync *int64 `json:"resync"`
	// A label selector: only objects that match are passed on.
	Filter string `json:"filter"`
	// Waits inside its first call until it is released.
	Held bool `json:"held"`
	// Panics when it hears that an object of this name was added.
	Panics string `json:"panics"`
	// Adds this handler inside its first call.
	Adds *handlerSpec `json:"adds"`
}

// event is one call of a handler.
type event struct {
	// add, update or delete
	Kind    string `json:"kind"`
	Initial bool   `json:"initial,omitempty"`
	// Nobody saw it go: what is told is the last known state.
	Unknown bool  `json:"unknown,omitempty"`
	Object  *seen `json:"object"`
	Old     *seen `json:"old,omitempty"`
	// The object as it is in the store when the handler is called.
	Store *seen `json:"store,omitempty"`
}

// seen is what is compared of an object.
type seen struct {
	Key      string            `json:"key"`
	UID      string            `json:"uid"`
	Version  string            `json:"version"`
	Write    string            `json:"write"`
	Labels   map[string]string `json:"labels,omitempty"`
	Count    string            `json:"count,omitempty"`
	Deleting bool              `json:"deleting,omitempty"`
}

type handler struct {
	spec         handlerSpec
	run          *run
	of           *informer
	registration cache.ResourceEventHandlerRegistration
	once         sync.Once

	mutex sync.Mutex
	// Closed when the handler is released; nil while it is not held.
	held chan struct{}
}

func (h *handler) register() error {
	var told cache.ResourceEventHandler = h
	if h.spec.Filter != "" {
		selector, err := labels.Parse(h.spec.Filter)
		if err != nil {
			return err
		}
		told = cache.FilteringResourceEventHandler{Handler: h, FilterFunc: func(object any) bool {
			if gone, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
				object = gone.Obj
			}
			return selector.Matches(labels.Set(meta(object).GetLabels()))
		}}
	}
	options := cache.HandlerOptions{}
	if h.spec.Resync != nil {
		resync := time.Duration(*h.spec.Resync) * time.Millisecond
		options.ResyncPeriod = &resync
	}
	registration, err := h.of.AddEventHandlerWithOptions(told, options)
	h.registration = registration
	return err
}

func (h *handler) OnAdd(object any, initial bool) {
	h.tell(&event{Kind: "add", Initial: initial, Object: look(object)})
	if h.spec.Panics != "" && h.spec.Panics == meta(object).GetName() {
		panic("as told")
	}
}

func (h *handler) OnUpdate(old, new any) {
	h.tell(&event{Kind: "update", Object: look(new), Old: look(old)})
}

func (h *handler) OnDelete(object any) {
	gone, unknown := object.(cache.DeletedFinalStateUnknown)
	if unknown {
		object = gone.Obj
	}
	h.tell(&event{Kind: "delete", Unknown: unknown, Object: look(object)})
}

func (h *handler) tell(e *event) {
	if stored, there, _ := h.of.GetStore().GetByKey(e.Object.Key); there {
		e.Store = look(stored)
	}
	h.run.out.write(line{Run: h.run.name, Handler: h.spec.Name, Event: e})
	if h.spec.Adds != nil {
		h.once.Do(func() {
			if err := h.run.add(h.of, *h.spec.Adds); err != nil {
				panic(err)
			}
		})
	}
	h.mutex.Lock()
	held := h.held
	h.mutex.Unlock()
	if held != nil {
		<-held
	}
}

func (h *handler) do(what string) (any, error) {
	switch what {
	case "remove":
		return nil, h.of.RemoveEventHandler(h.registration)
	case "release":
		h.release()
	case "handler-synced":
		return h.registration.HasSynced(), nil
	case "wait-handler-synced":
		return wait(h.of.context, h.registration.HasSyncedChecker()), nil
	default:
		return nil, errors.New("nobody knows what that is: " + what)
	}
	return nil, nil
}

func (h *handler) hold() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.held = make(chan struct{})
}

func (h *handler) release() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.held != nil {
		close(h.held)
		h.held = nil
	}
}

func meta(object any) metav1.Object {
	accessor, ok := object.(metav1.Object)
	if !ok {
		panic("an object without metadata")
	}
	return accessor
}

func look(object any) *seen {
	m := meta(object)
	key := strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/")
	annotations := m.GetAnnotations()
	return &seen{
		Key:      key,
		UID:      string(m.GetUID()),
		Version:  m.GetResourceVersion(),
		Write:    annotations["write"],
		Labels:   m.GetLabels(),
		Count:    annotations["count"],
		Deleting: m.GetDeletionTimestamp() != nil,
	}
}
