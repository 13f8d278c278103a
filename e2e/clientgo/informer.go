package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// informerSpec says which informer to make.
type informerSpec struct {
	// typed, dynamic or metadata
	Mode      string `json:"mode"`
	Group     string `json:"group"`
	Version   string `json:"version"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Labels    string `json:"labels"`
	Fields    string `json:"fields"`
	// Milliseconds; 0 for never.
	Resync    int64    `json:"resync"`
	Transform string   `json:"transform"`
	Indexes   []string `json:"indexes"`
}

type informer struct {
	cache.SharedIndexInformer
	lister cache.GenericLister

	context context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

const protobuf = "application/vnd.kubernetes.protobuf"

func newInformer(config *rest.Config, spec informerSpec) (*informer, error) {
	resource := schema.GroupVersionResource{Group: spec.Group, Version: spec.Version, Resource: spec.Resource}
	resync := time.Duration(spec.Resync) * time.Millisecond
	tweak := func(options *metav1.ListOptions) {
		options.LabelSelector, options.FieldSelector = spec.Labels, spec.Fields
	}
	var found informers.GenericInformer
	switch spec.Mode {
	case "typed":
		config := rest.CopyConfig(config)
		config.AcceptContentTypes = protobuf + ",application/json"
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := informers.NewSharedInformerFactoryWithOptions(client, resync,
			informers.WithNamespace(spec.Namespace), informers.WithTweakListOptions(tweak))
		if found, err = factory.ForResource(resource); err != nil {
			return nil, err
		}
	case "dynamic":
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, resync, spec.Namespace, tweak)
		found = factory.ForResource(resource)
	case "metadata":
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		factory := metadatainformer.NewFilteredSharedInformerFactory(client, resync, spec.Namespace, tweak)
		found = factory.ForResource(resource)
	default:
		return nil, fmt.Errorf("nobody knows the mode %q", spec.Mode)
	}
	made := &informer{SharedIndexInformer: found.Informer(), lister: found.Lister()}
	made.context, made.cancel = context.WithCancel(context.Background())
	if spec.Transform != "" {
		transform := transforms[spec.Transform]
		if transform == nil {
			return nil, fmt.Errorf("nobody knows the transform %q", spec.Transform)
		}
		if err := made.SetTransform(transform); err != nil {
			return nil, err
		}
	}
	for _, index := range spec.Indexes {
		if err := made.addIndex(index); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// addIndex adds an index by a label, or, for "words", by each word of an annotation.
func (i *informer) addIndex(name string) error {
	return i.AddIndexers(cache.Indexers{name: func(object any) ([]string, error) {
		if name == "words" {
			return strings.Fields(meta(object).GetAnnotations()["words"]), nil
		}
		if value, has := meta(object).GetLabels()[name]; has {
			return []string{value}, nil
		}
		return nil, nil
	}})
}

func (i *informer) start() {
	i.running.Go(func() { i.RunWithContext(i.context) })
}

func (i *informer) stop() {
	i.cancel()
	i.running.Wait()
}

// transforms are what may be done to objects before anybody sees them.
var transforms = map[string]cache.TransformFunc{
	"drop-labels": func(object any) (any, error) {
		meta(object).SetLabels(nil)
		return object, nil
	},
	"drop-version": func(object any) (any, error) {
		meta(object).SetResourceVersion("")
		return object, nil
	},
	// Counts how often it was called with the object.
	"count": func(object any) (any, error) {
		annotations := meta(object).GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["count"] += "+"
		meta(object).SetAnnotations(annotations)
		return object, nil
	},
}
