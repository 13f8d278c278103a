package main

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// run is one scenario: a server, informers, handlers.
type run struct {
	name      string
	out       *output
	config    *rest.Config
	informers map[string]*informer

	// Handlers may add handlers.
	mutex    sync.Mutex
	handlers map[string]*handler
}

func newRun(name string, out *output) *run {
	return &run{name: name, out: out, informers: map[string]*informer{}, handlers: map[string]*handler{}}
}

func (r *run) follow(queue <-chan command) {
	for c := range queue {
		answer, err := r.do(c)
		l := line{Number: c.Number, Answer: answer}
		if err != nil {
			l.Error = err.Error()
		}
		r.out.write(l)
	}
}

func (r *run) do(c command) (any, error) {
	switch c.Do {
	case "begin":
		return nil, r.begin(c.Kubeconfig)
	case "end":
		r.end()
		return nil, nil
	case "informer":
		made, err := newInformer(r.config, c.Informer)
		if err == nil {
			r.informers[c.Name] = made
		}
		return nil, err
	}
	if c.Do == "remove" || c.Do == "release" || c.Do == "handler-synced" ||
		c.Do == "wait-handler-synced" {
		h := r.handler(c.Name)
		if h == nil {
			return nil, fmt.Errorf("there is no handler %q", c.Name)
		}
		return h.do(c.Do)
	}
	of := r.informers[c.Of]
	if of == nil {
		return nil, fmt.Errorf("there is no informer %q", c.Of)
	}
	if c.Do == "handler" {
		return nil, r.add(of, c.Handler)
	}
	return of.do(c)
}

func (r *run) begin(kubeconfig string) error {
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	if err != nil {
		return err
	}
	config.QPS = -1
	config.UserAgent = "client-go as judge"
	r.config = config
	return nil
}

func (r *run) end() {
	r.mutex.Lock()
	for _, h := range r.handlers {
		h.release()
	}
	r.mutex.Unlock()
	for _, i := range r.informers {
		i.stop()
	}
}

func (r *run) handler(name string) *handler {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.handlers[name]
}

func (r *run) add(of *informer, spec handlerSpec) error {
	h := &handler{spec: spec, run: r, of: of}
	r.mutex.Lock()
	_, known := r.handlers[spec.Name]
	r.mutex.Unlock()
	if known {
		return errors.New("a handler of this name is there already")
	}
	if spec.Held {
		h.hold()
	}
	if err := h.register(); err != nil {
		return err
	}
	r.mutex.Lock()
	r.handlers[spec.Name] = h
	r.mutex.Unlock()
	return nil
}
