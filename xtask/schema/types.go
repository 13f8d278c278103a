package main

import (
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// specials are the types whose JSON is not what their Go form suggests.
var specials = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():                                  "time",
	reflect.TypeFor[metav1.MicroTime]():                             "microtime",
	reflect.TypeFor[metav1.Duration]():                              "duration",
	reflect.TypeFor[resource.Quantity]():                            "quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "intstr",
	reflect.TypeFor[[]byte]():                                       "bytes",
	reflect.TypeFor[runtime.RawExtension]():                         "any",
	reflect.TypeFor[metav1.FieldsV1]():                              "any",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "any",
}

func special(t reflect.Type) string { return specials[t] }

// isNamed tells types with a line of their own from those that are spelled out where they are used.
func isNamed(t reflect.Type) bool {
	return t.PkgPath() != "" && (special(t) == "" || special(t) == "any")
}

// isMessage tells named lists that protobuf treats as messages.
func isMessage(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]())
}

// reachable lists the named types that the kinds are made of.
func reachable(kinds map[reflect.Type]map[string][]string) []reflect.Type {
	seen := map[reflect.Type]bool{}
	var list []reflect.Type
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		if isNamed(t) {
			list = append(list, t)
		} else if special(t) != "" {
			return
		}
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				if f := t.Field(i); isInline(f) || jsonName(f) != "" || protobufNumber(f) != "-" {
					visit(f.Type)
				}
			}
		}
	}
	for t := range kinds {
		visit(t)
	}
	return list
}

// openAPIPackage turns k8s.io/api/core/v1 into io.k8s.api.core.v1.
func openAPIPackage(t reflect.Type) string {
	host, rest, _ := strings.Cut(t.PkgPath(), "/")
	labels := strings.Split(host, ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ".") + "." + strings.ReplaceAll(rest, "/", ".")
}

func openAPIName(t reflect.Type) string { return openAPIPackage(t) + "." + t.Name() }

// short is the last two parts of a package: core/v1.
func short(pkg string) string {
	parts := strings.Split(pkg, ".")
	return strings.Join(parts[len(parts)-2:], "/")
}

func isInline(f reflect.StructField) bool {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name == "" && f.Type.Kind() == reflect.Struct && (f.Anonymous || strings.Contains(options, "inline"))
}

// jsonName is empty for fields that JSON does not have.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" || !f.IsExported() {
		return ""
	}
	return name
}

func omitsEmpty(f reflect.StructField) bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
}

// protobufNumber is "-" for fields that protobuf does not have.
func protobufNumber(f reflect.StructField) string {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return "-"
	}
	return parts[1]
}
