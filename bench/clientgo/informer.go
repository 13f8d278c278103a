package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// The name of the index by the field that handlers read.
const byField = "field"

// served is how much a replay server has of a kind.
type served struct {
	Kind string
	// When a reader last asked for all objects.
	Asked int64
	Count int
	// How many of a hundred updates are of this kind.
	Updates int
	// How many objects a relist finds changed, by percentage.
	Changed map[string]int
}

// updatesOf is how many of all updates are of this kind.
func (k served) updatesOf(all int) int { return all * k.Updates / 100 }

// server is a replay server: what it says of itself, and a way to command it.
type server struct {
	url    string
	client *http.Client
	// When it started.
	Started int64
	Kinds   []served
}

// connect asks a replay server what it has.
func connect(s settings) (*server, *rest.Config, error) {
	config := &rest.Config{Host: s.url, DisableCompression: true}
	if s.ca != "" {
		der, err := os.ReadFile(s.ca)
		if err != nil {
			return nil, nil, err
		}
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, err
	}
	server := &server{url: s.url, client: client}
	return server, config, server.describe()
}

// describe reads again what the server says of itself.
func (s *server) describe() error {
	response, err := s.client.Get(s.url + "/bench/state")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	s.Kinds = nil
	return json.Unmarshal(body, s)
}

// send commands the server.
func (s *server) send(path string) error {
	response, err := s.client.Post(s.url+path, "text/plain", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return nil
}

// copies are the informers of all kinds of a server.
type copies struct {
	server    *server
	informers []cache.SharedIndexInformer
}

// newCopies makes the shared informers that a controller would have.
func newCopies(s settings) (*copies, error) {
	server, config, err := connect(s)
	if err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = "application/vnd.kubernetes.protobuf"
	typed.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(typed)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	dynamicFactory := dynamicinformer.NewDynamicSharedInformerFactory(dynamicClient, 0)
	all := &copies{server: server}
	for _, kind := range server.Kinds {
		var informer cache.SharedIndexInformer
		switch kind.Kind {
		case "Pod":
			informer = factory.Core().V1().Pods().Informer()
		case "Node":
			informer = factory.Core().V1().Nodes().Informer()
		case "ConfigMap":
			informer = factory.Core().V1().ConfigMaps().Informer()
		case "Secret":
			informer = factory.Core().V1().Secrets().Informer()
		case "Event":
			informer = factory.Core().V1().Events().Informer()
		case "EndpointSlice":
			informer = factory.Discovery().V1().EndpointSlices().Informer()
		case "Lease":
			informer = factory.Coordination().V1().Leases().Informer()
		case "Widget":
			informer = dynamicFactory.ForResource(widgets).Informer()
		case "Blob":
			informer = dynamicFactory.ForResource(widgets.GroupVersion().WithResource("blobs")).Informer()
		default:
			return nil, fmt.Errorf("no informer is known for the kind %s", kind.Kind)
		}
		if s.dropManagedFields {
			if err := informer.SetTransform(dropManagedFields); err != nil {
				return nil, err
			}
		}
		all.informers = append(all.informers, informer)
	}
	return all, nil
}

// dropManagedFields is the transform that many controllers set.
func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// addIndex adds the index that only reads need.
func addIndex(informer cache.SharedIndexInformer) error {
	return informer.AddIndexers(cache.Indexers{byField: func(object any) ([]string, error) {
		return []string{fieldOf(object)}, nil
	}})
}

// start starts all informers and waits until they have synced.
func (c *copies) start() {
	for _, informer := range c.informers {
		go informer.Run(make(chan struct{}))
	}
	for _, informer := range c.informers {
		for !informer.HasSynced() {
			time.Sleep(time.Millisecond)
		}
	}
}

// check also keeps the informers alive.
func (c *copies) check() error {
	for number, informer := range c.informers {
		kind := c.server.Kinds[number]
		if count := len(informer.GetStore().ListKeys()); count != kind.Count {
			return fmt.Errorf("%d objects of %s instead of %d", count, kind.Kind, kind.Count)
		}
	}
	return nil
}

// fieldOf reads one field, the same as the other libraries.
func fieldOf(object any) string {
	switch object := object.(type) {
	case *corev1.Pod:
		return object.Spec.NodeName
	case *corev1.Node:
		return object.Status.NodeInfo.KubeletVersion
	case *corev1.ConfigMap:
		// Any value: the order of a map is random.
		for _, value := range object.Data {
			return value
		}
	case *corev1.Secret:
		return string(object.Type)
	case *corev1.Event:
		return object.Reason
	case *discoveryv1.EndpointSlice:
		if len(object.Endpoints) > 0 && len(object.Endpoints[0].Addresses) > 0 {
			return object.Endpoints[0].Addresses[0]
		}
	case *coordinationv1.Lease:
		if object.Spec.HolderIdentity != nil {
			return *object.Spec.HolderIdentity
		}
	case *unstructured.Unstructured:
		node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
		return node
	}
	return ""
}

func versionOf(object any) string {
	return object.(metav1.Object).GetResourceVersion()
}

// The version of an event is this plus the microseconds since the server's start.
const eventVersion = 2_000_000_000

// sentAt is when an event was sent.
func (s *server) sentAt(version string) time.Time {
	number, _ := strconv.ParseInt(version, 10, 64)
	return time.Unix(0, s.Started).Add(time.Duration(number-eventVersion) * time.Microsecond)
}
