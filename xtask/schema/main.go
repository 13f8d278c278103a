// Command schema writes the tables of facts about the built-in Kubernetes kinds: their JSON and how it is merged, for
// kube-testserver, and their protobuf, for kube-wire.
//
// It asks the Go types themselves (by reflection), the markers in their source, and the schema that
// client-go carries for server-side apply; nothing is typed in by hand. `cargo xtask schema` runs it:
//
//	go run . schema > ../../crates/kube-testserver/data/schema.txt
//	go run . protobuf > ../../crates/kube-wire/data/protobuf.txt
//	go run . samples > ../../crates/kube-wire/tests/proto/samples.gz
//
// The samples are objects that the tests of kube-wire decode. They and the protobuf table are about several Kubernetes
// versions, each with its modules in versions/. With -v, schema also says on standard error where the sources disagree.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apidiscoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const header = `# Facts about the built-in Kubernetes kinds, read off their Go types. Written by xtask/schema; do not edit.
#
# Modules:
%s#
# package OPENAPI-PACKAGE SHORT   types that follow belong to it; elsewhere they are called SHORT.NAME
# type NAME [= TYPE]              a struct, or (after =) a named type of another form; with "= any", field
#                                 lines that follow are its protobuf message
# atomic                          server-side apply owns the struct above as a whole
# kind KIND VERSION...            the struct above is this top-level kind in these apiVersions
# NUMBER NAME TYPE [WORD...]      a field: protobuf number (- for none), JSON name (! when required)
# NUMBER ^ TYPE                   a struct inlined in JSON, nested in protobuf unless the number is -
#
# A TYPE is string bytes bool int32 int64 number intstr quantity time microtime duration any, or a type's
# name (.NAME in its own package). *T is a Go pointer; []T an atomic list, [set]T a set, [k1,k2]T a list of
# objects with these keys; {}T a map with string keys, {atomic}T an atomic one; &T the struct T, but not
# atomic in this place; ~[]T a list that protobuf wraps in a message of its own (its items are field 1).
# The wire type follows from the TYPE (the struct tags are often wrong about it): varint for bool and
# integers, 64 bits for number, length-delimited for the rest.
# A WORD is merge, merge=KEY, replace or retain (strategic merge patch), or =JSON (the default).
`

func main() {
	verbose := flag.Bool("v", false, "schema: report disagreements between the sources")
	seed := flag.Int64("seed", 1, "samples: what the random ones follow from")
	rounds := flag.Int("rounds", 1, "samples: random ones of each kind")
	flag.Parse()
	registerKinds()
	if flag.Arg(0) != "schema" {
		registerMoreKinds()
	}
	out := bufio.NewWriter(os.Stdout)
	var err error
	switch what := flag.Arg(0); what {
	case "schema":
		err = writeSchema(out, *verbose)
	case "protobuf":
		err = writeProtobuf(out, false)
	case "protobuf-one":
		err = writeProtobuf(out, true)
	case "samples":
		err = writeSamples(out, *seed, *rounds)
	case "samples-one":
		err = writeSamplesOfOne(out, *seed, *rounds)
	default:
		err = fmt.Errorf("say what to write: schema, protobuf or samples, not %q", what)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func registerKinds() {
	utilruntime.Must(admissionv1.AddToScheme(scheme.Scheme))
	utilruntime.Must(apidiscoveryv2.AddToScheme(scheme.Scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme.Scheme))
	utilruntime.Must(apiregistrationv1.AddToScheme(scheme.Scheme))
	utilruntime.Must(metav1.AddMetaToScheme(scheme.Scheme))

}

// registerMoreKinds adds what no API server serves, but somebody may send.
func registerMoreKinds() {
	utilruntime.Must(admissionv1beta1.AddToScheme(scheme.Scheme))
	utilruntime.Must(apidiscoveryv2beta1.AddToScheme(scheme.Scheme))
	utilruntime.Must(imagepolicyv1alpha1.AddToScheme(scheme.Scheme))
	utilruntime.Must(metav1beta1.AddMetaToScheme(scheme.Scheme))
}

func writeSchema(out *bufio.Writer, verbose bool) error {
	kinds := rootKinds()
	types := reachable(kinds)
	facts, err := readFacts(types)
	if err != nil {
		return err
	}
	writer := &table{facts: facts, kinds: kinds}
	modules, _, err := modulesLine("go.mod")
	if err != nil {
		return err
	}
	writer.write(out, modules, types)
	if verbose {
		for _, note := range writer.notes {
			fmt.Fprintln(os.Stderr, note)
		}
	}
	return nil
}

// rootKinds lists the apiVersions of every registered kind by Go type and kind name.
func rootKinds() map[reflect.Type]map[string][]string {
	kinds := map[reflect.Type]map[string][]string{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || t.Kind() != reflect.Struct {
			continue
		}
		// InternalEvent never travels.
		if gvk.Kind == "InternalEvent" {
			continue
		}
		if kinds[t] == nil {
			kinds[t] = map[string][]string{}
		}
		kinds[t][gvk.Kind] = append(kinds[t][gvk.Kind], gvk.GroupVersion().String())
	}
	return kinds
}

// table writes the types.
type table struct {
	facts *facts
	kinds map[reflect.Type]map[string][]string
	pkg   string
	notes []string
}

func (w *table) write(out *bufio.Writer, modules string, types []reflect.Type) {
	fmt.Fprintf(out, header, modules)
	sort.Slice(types, func(i, j int) bool { return openAPIName(types[i]) < openAPIName(types[j]) })
	for _, t := range types {
		if pkg := openAPIPackage(t); pkg != w.pkg {
			w.pkg = pkg
			fmt.Fprintf(out, "\npackage %s %s\n", pkg, short(pkg))
		}
		if t.Kind() != reflect.Struct {
			fmt.Fprintf(out, "type %s = %s\n", t.Name(), w.unnamed(t, nil))
			continue
		}
		if special(t) != "" {
			fmt.Fprintf(out, "type %s = %s\n", t.Name(), special(t))
		} else {
			fmt.Fprintf(out, "type %s\n", t.Name())
			if w.facts.atomicStruct(t) {
				fmt.Fprintln(out, "atomic")
			}
		}
		for _, kind := range sortedKeys(w.kinds[t]) {
			versions := w.kinds[t][kind]
			sort.Strings(versions)
			fmt.Fprintf(out, "kind %s %s\n", kind, strings.Join(versions, " "))
		}
		for i := range t.NumField() {
			if line := w.field(t, t.Field(i)); line != "" {
				fmt.Fprintln(out, line)
			}
		}
	}
}

// field is the line of one struct field; empty for a field that never travels.
func (w *table) field(owner reflect.Type, f reflect.StructField) string {
	number := protobufNumber(f)
	if isInline(f) {
		return fmt.Sprintf("%s ^ %s", number, w.typeName(f.Type))
	}
	name := jsonName(f)
	if name == "" {
		if number == "-" {
			return ""
		}
		// Only in types with their own JSON form (JSONSchemaPropsOrBool): the protobuf message.
		name = strings.ToLower(f.Name[:1]) + f.Name[1:]
	}
	apply := w.facts.apply(owner, f)
	if apply.note != "" {
		w.notes = append(w.notes, apply.note)
	}
	words := []string{number, name, w.expression(f.Type, apply.ref)}
	if special(owner) == "" && w.facts.required(owner, f) {
		words[1] += "!"
	}
	strategies := strings.Split(f.Tag.Get("patchStrategy"), ",")
	for _, strategy := range strategies {
		switch strategy {
		case "merge":
			if key := f.Tag.Get("patchMergeKey"); key != "" {
				words = append(words, "merge="+key)
			} else {
				words = append(words, "merge")
			}
		case "replace":
			words = append(words, "replace")
		case "retainKeys":
			words = append(words, "retain")
		}
	}
	if apply.fallback != "" && special(owner) == "" {
		words = append(words, "="+apply.fallback)
	}
	return strings.Join(words, " ")
}

// expression describes a type in the place where a field uses it; ref is what server-side apply knows.
func (w *table) expression(t reflect.Type, ref *applyRef) string {
	if t.Kind() == reflect.Pointer {
		return "*" + w.expression(t.Elem(), ref)
	}
	if !isNamed(t) || t.Kind() == reflect.Slice && ref.listKeys() != "" {
		return w.unnamed(t, ref)
	}
	if ref.separableHere() && w.facts.atomicStruct(t) {
		return "&" + w.typeName(t)
	}
	// The table has no sign for the opposite, because there is no such field.
	if ref.atomicHere() && special(t) == "" && !w.facts.atomicStruct(t) {
		panic(fmt.Sprintf("%s is atomic only in one place", t))
	}
	return w.typeName(t)
}

// unnamed describes a type by its form.
func (w *table) unnamed(t reflect.Type, ref *applyRef) string {
	if name := special(t); name != "" {
		return name
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "bool"
	case reflect.Int32:
		return "int32"
	case reflect.Int64:
		return "int64"
	case reflect.Float64:
		return "number"
	case reflect.Interface:
		return "any"
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("map keys of %s", t))
		}
		relation := "{}"
		if ref.atomicHere() {
			relation = "{atomic}"
		}
		return relation + w.expression(t.Elem(), ref.element())
	case reflect.Slice:
		wrapped := ""
		if isMessage(t) {
			wrapped = "~"
		}
		return wrapped + "[" + ref.listKeys() + "]" + w.expression(t.Elem(), ref.element())
	default:
		panic(fmt.Sprintf("no word for %s", t))
	}
}

// typeName refers to a named type.
func (w *table) typeName(t reflect.Type) string {
	if name := special(t); name != "" && name != "any" {
		return name
	}
	if openAPIPackage(t) == w.pkg {
		return "." + t.Name()
	}
	return short(openAPIPackage(t)) + "." + t.Name()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
