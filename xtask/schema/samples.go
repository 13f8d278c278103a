package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
	"sort"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// writeSamples writes objects of every kind in protobuf and in JSON: one with nothing set, one with everything set to
// zero, and as many random ones as asked for; of the latest version that has the kind. Compressed; each record is five
// texts with their lengths before them: apiVersion, kind, protobuf, JSON, and the protobuf that Go makes of that JSON if
// it is not the same.
func writeSamples(out *bufio.Writer, seed int64, rounds int) error {
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeSamplesOfOne(compressed, seed, rounds); err != nil {
		return err
	}
	known := map[string]bool{}
	for _, kind := range protobufKinds() {
		known[kind.apiVersion+" "+kind.name] = true
	}
	modfiles, err := olderModfiles()
	if err != nil {
		return err
	}
	for _, modfile := range modfiles {
		command := exec.Command("go", "run", "-modfile="+modfile, ".",
			fmt.Sprintf("-seed=%d", seed), fmt.Sprintf("-rounds=%d", rounds), "samples-one")
		command.Stderr = os.Stderr
		older, err := command.Output()
		if err == nil {
			err = copySamples(compressed, bytes.NewReader(older), known)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", modfile, err)
		}
	}
	return compressed.Close()
}

// writeSamplesOfOne writes those of the version that this program is linked with.
func writeSamplesOfOne(out io.Writer, seed int64, rounds int) error {
	filler := &filler{random: rand.New(rand.NewSource(seed))}
	for _, kind := range protobufKinds() {
		for round := range rounds + 2 {
			filler.zero = round == 1
			object := reflect.New(kind.goType)
			if round > 0 {
				filler.fill(object.Elem(), 0)
			}
			if meta := object.Elem().FieldByName("TypeMeta"); meta.IsValid() {
				meta.Set(reflect.ValueOf(metav1.TypeMeta{APIVersion: kind.apiVersion, Kind: kind.name}))
			}
			if err := writeSample(out, kind, object.Interface()); err != nil {
				return fmt.Errorf("%s %s: %w", kind.apiVersion, kind.name, err)
			}
		}
	}
	return nil
}

// copySamples copies those of kinds that are not known, which are known then.
func copySamples(out io.Writer, older io.Reader, known map[string]bool) error {
	added := map[string]bool{}
	for {
		var sample [5][]byte
		for i := range sample {
			part, err := readPart(older)
			if i == 0 && err == io.EOF {
				for kind := range added {
					known[kind] = true
				}
				return nil
			}
			if err != nil {
				return err
			}
			sample[i] = part
		}
		kind := string(sample[0]) + " " + string(sample[1])
		if known[kind] {
			continue
		}
		added[kind] = true
		for _, part := range sample {
			if err := writePart(out, part); err != nil {
				return err
			}
		}
	}
}

func readPart(in io.Reader) ([]byte, error) {
	var length uint32
	if err := binary.Read(in, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	part := make([]byte, length)
	_, err := io.ReadFull(in, part)
	return part, err
}

func writePart(out io.Writer, part []byte) error {
	if err := binary.Write(out, binary.BigEndian, uint32(len(part))); err != nil {
		return err
	}
	_, err := out.Write(part)
	return err
}

func writeSample(out io.Writer, kind sampleKind, object any) error {
	protobuf, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		return err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	again := reflect.New(kind.goType).Interface()
	if err := json.Unmarshal(text, again); err != nil {
		return err
	}
	fromJSON, err := again.(interface{ Marshal() ([]byte, error) }).Marshal()
	if err != nil {
		return err
	}
	if bytes.Equal(fromJSON, protobuf) {
		fromJSON = nil
	}
	for _, part := range [][]byte{[]byte(kind.apiVersion), []byte(kind.name), protobuf, text, fromJSON} {
		if err := writePart(out, part); err != nil {
			return err
		}
	}
	return nil
}

type sampleKind struct {
	apiVersion, name string
	goType           reflect.Type
}

// protobufKinds lists every kind that has a protobuf form, each Go type once for each of its names.
func protobufKinds() []sampleKind {
	var list []sampleKind
	for t, names := range rootKinds() {
		if !isMessage(t) {
			continue
		}
		for name, versions := range names {
			sort.Strings(versions)
			list = append(list, sampleKind{versions[len(versions)-1], name, t})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].apiVersion+" "+list[i].name < list[j].apiVersion+" "+list[j].name
	})
	return list
}

// filler sets the fields of objects.
type filler struct {
	random *rand.Rand
	// zero sets everything there is, to zero.
	zero bool
}

// deepest is how deep objects nest at most; the chance to nest falls on the way there.
const deepest = 9

func (f *filler) fill(v reflect.Value, depth int) {
	if f.special(v, depth) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(!f.zero && f.random.Intn(2) == 0)
	case reflect.Int32:
		v.SetInt(int64(int32(f.integer(math.MinInt32, math.MaxInt32))))
	case reflect.Int64:
		v.SetInt(f.integer(math.MinInt64, math.MaxInt64))
	case reflect.Float64:
		if !f.zero {
			v.SetFloat([]float64{0, 1, -3, 0.5, 1e300, 123456.789, -1e-7}[f.random.Intn(7)])
		}
	case reflect.Pointer:
		if f.goesOn(v.Type().Elem(), depth) {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if !f.goesOn(v.Type().Elem(), depth) {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), f.count(), 3))
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		if !f.goesOn(v.Type().Elem(), depth) {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for range f.count() {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(value, depth+1)
			// Protobuf cannot tell a list that is not there from an empty one.
			if value.Kind() == reflect.Slice && value.Len() == 0 {
				value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			}
			setTime(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			inTurn := isInline(field) || jsonName(field) != "" || protobufNumber(field) != "-"
			if field.IsExported() && inTurn && field.Name != "TypeMeta" {
				f.fill(v.Field(i), depth+1)
				if !omitsEmpty(field) {
					setTime(v.Field(i))
				}
			}
		}
	}
}

// setTime makes sure that a time is set: where it must not be absent, JSON has null for one that is not, and types do
// not take that.
func setTime(v reflect.Value) {
	switch value := v.Addr().Interface().(type) {
	case *metav1.Time:
		if value.IsZero() {
			*value = metav1.NewTime(time.Unix(0, 0).UTC())
		}
	case *metav1.MicroTime:
		if value.IsZero() {
			*value = metav1.NewMicroTime(time.Unix(0, 0).UTC())
		}
	}
}

// special fills types whose JSON is not what their Go form suggests.
func (f *filler) special(v reflect.Value, depth int) bool {
	switch value := v.Addr().Interface().(type) {
	case *metav1.Time:
		if !f.zero && f.random.Intn(4) > 0 {
			*value = metav1.NewTime(time.Unix(f.random.Int63n(8_000_000_000)-2_000_000_000, 0).UTC())
		}
	case *metav1.MicroTime:
		if !f.zero && f.random.Intn(4) > 0 {
			nanos := f.random.Int63n(1_000_000) * 1000
			*value = metav1.NewMicroTime(time.Unix(f.random.Int63n(4_000_000_000), nanos).UTC())
		}
	case *resource.Quantity:
		*value = resource.MustParse("0")
		if !f.zero {
			texts := []string{"0", "1", "100m", "1Gi", "1536Mi", "12e6", "-5", "9223372036854775807", "3k", "1n"}
			*value = resource.MustParse(texts[f.random.Intn(len(texts))])
		}
	case *intstr.IntOrString:
		if !f.zero && f.random.Intn(2) == 0 {
			*value = intstr.FromString(f.text())
		} else if !f.zero {
			*value = intstr.FromInt32(int32(f.integer(math.MinInt32, math.MaxInt32)))
		}
	case *runtime.RawExtension:
		value.Raw = f.json()
	case *metav1.FieldsV1:
		value.Raw = []byte(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`)
	case *apiextensionsv1.JSON:
		value.Raw = f.json()
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		value.Allows = !f.zero && f.random.Intn(2) == 0
		f.fill(reflect.ValueOf(&value.Schema).Elem(), depth)
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if f.random.Intn(2) == 0 {
			f.fill(reflect.ValueOf(&value.Schema).Elem(), depth)
		} else {
			f.fill(reflect.ValueOf(&value.JSONSchemas).Elem(), depth)
		}
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if f.random.Intn(2) == 0 {
			f.fill(reflect.ValueOf(&value.Schema).Elem(), depth)
		} else {
			f.fill(reflect.ValueOf(&value.Property).Elem(), depth)
		}
	case *[]byte:
		if f.zero || f.random.Intn(3) > 0 {
			*value = []byte(f.text())
		}
	default:
		return false
	}
	return true
}

// goesOn decides whether something that may be absent is there.
func (f *filler) goesOn(t reflect.Type, depth int) bool {
	if depth >= deepest {
		return false
	}
	if f.zero {
		// A schema has schemas in it: with everything set, they would never end.
		return depth < 4 || !strings.HasPrefix(t.Name(), "JSONSchemaProps")
	}
	return f.random.Intn(deepest) > depth
}

func (f *filler) count() int {
	if f.zero {
		return 1
	}
	return 1 + f.random.Intn(2)
}

func (f *filler) text() string {
	if f.zero {
		return ""
	}
	texts := []string{"", "a", "kube-system", "Ready", "ünïcode ✓ 𝄞", "\"quotes\"\n\\", strings.Repeat("long ", 30)}
	return texts[f.random.Intn(len(texts))]
}

func (f *filler) integer(least, greatest int64) int64 {
	if f.zero {
		return 0
	}
	return []int64{0, 1, -1, 80, 300, least, greatest}[f.random.Intn(7)]
}

func (f *filler) json() []byte {
	if f.zero || f.random.Intn(5) == 0 {
		return nil
	}
	return []byte([]string{`{"a":[1,{"b":"c"}]}`, `"text"`, `[true,-2.5]`, `7`}[f.random.Intn(4)])
}
