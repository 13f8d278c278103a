package main

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// do does something to an informer, or answers a question about it.
func (i *informer) do(c command) (any, error) {
	switch c.Do {
	case "start":
		i.start()
	case "cancel":
		i.cancel()
	case "stop":
		i.stop()
	case "index":
		return nil, i.addIndex(c.Name)
	case "synced":
		return i.HasSynced(), nil
	case "wait-synced":
		return wait(i.context, i.HasSyncedChecker()), nil
	case "stopped":
		return i.IsStopped(), nil
	case "version":
		return i.LastSyncResourceVersion(), nil
	case "store":
		return lookAll(i.GetStore().List()), nil
	case "by-index":
		found, err := i.GetIndexer().ByIndex(c.Name, c.Value)
		return lookAll(found), err
	case "index-values":
		return i.GetIndexer().ListIndexFuncValues(c.Name), nil
	case "list":
		return i.list(c)
	case "get":
		return i.get(c)
	default:
		return nil, errors.New("nobody knows what that is: " + c.Do)
	}
	return nil, nil
}

func (i *informer) list(c command) (any, error) {
	selector, err := labels.Parse(c.Labels)
	if err != nil {
		return nil, err
	}
	var found []runtime.Object
	if c.Namespace == "" {
		found, err = i.lister.List(selector)
	} else {
		found, err = i.lister.ByNamespace(c.Namespace).List(selector)
	}
	return lookAll(found), err
}

// get answers with one object, or with none.
func (i *informer) get(c command) (any, error) {
	var found runtime.Object
	var err error
	if c.Namespace == "" {
		found, err = i.lister.Get(c.Name)
	} else {
		found, err = i.lister.ByNamespace(c.Namespace).Get(c.Name)
	}
	if apierrors.IsNotFound(err) {
		return []*seen{}, nil
	}
	if err != nil {
		return nil, err
	}
	return []*seen{look(found)}, nil
}

func lookAll[T any](objects []T) []*seen {
	all := make([]*seen, 0, len(objects))
	for _, object := range objects {
		all = append(all, look(object))
	}
	return all
}

// wait returns whether it was done before the end.
func wait(end context.Context, checker cache.DoneChecker) bool {
	select {
	case <-checker.Done():
		return true
	case <-end.Done():
		return cache.IsDone(checker)
	}
}
