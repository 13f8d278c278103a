package main

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var widgets = schema.GroupVersionResource{Group: "bench.example.com", Version: "v1", Resource: "widgets"}

const byNode = "node"

// newInformer makes the shared informer that a controller would have.
func newInformer(s settings) (cache.SharedIndexInformer, error) {
	config := &rest.Config{Host: s.url, DisableCompression: true}
	var informer cache.SharedIndexInformer
	if s.kind == "pods" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		informer = informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	} else {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		informer = dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(widgets).Informer()
	}
	return informer, nil
}

// addNodeIndex adds the index that only reads need.
func addNodeIndex(informer cache.SharedIndexInformer) error {
	return informer.AddIndexers(cache.Indexers{byNode: func(object any) ([]string, error) {
		return []string{nodeOf(object)}, nil
	}})
}

// start starts an informer and waits until it has synced.
func start(s settings, informer cache.SharedIndexInformer) error {
	go informer.Run(make(chan struct{}))
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	if count := len(informer.GetStore().ListKeys()); count != s.count {
		return fmt.Errorf("%d objects instead of %d", count, s.count)
	}
	return nil
}

// nodeOf looks into an object.
func nodeOf(object any) string {
	switch object := object.(type) {
	case *corev1.Pod:
		return object.Spec.NodeName
	case *unstructured.Unstructured:
		node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
		return node
	}
	return ""
}

func versionOf(object any) string {
	return object.(metav1.Object).GetResourceVersion()
}

// The version of an event is this and the microseconds since the server's start.
const eventVersion = 2_000_000_000

// sentAt is when an event was sent.
func sentAt(started time.Time, version string) time.Time {
	number, _ := strconv.ParseInt(version, 10, 64)
	return started.Add(time.Duration(number-eventVersion) * time.Microsecond)
}
