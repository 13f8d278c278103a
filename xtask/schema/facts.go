package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// applyRef is what server-side apply knows about a type in one place: the shape of client-go's schema.
type applyRef struct {
	NamedType           string    `json:"namedType"`
	Scalar              string    `json:"scalar"`
	ElementRelationship string    `json:"elementRelationship"`
	List                *applyRef `json:"list"`
	Map                 *applyRef `json:"map"`
	ElementType         *applyRef `json:"elementType"`
	Keys                []string  `json:"keys"`
	Fields              []struct {
		Name    string          `json:"name"`
		Type    *applyRef       `json:"type"`
		Default json.RawMessage `json:"default"`
	} `json:"fields"`
}

func (r *applyRef) atomicHere() bool {
	if r == nil {
		return false
	}
	return r.ElementRelationship == "atomic" || r.Map != nil && r.Map.ElementRelationship == "atomic"
}

// separableHere is about a named type: its fields are owned one by one in this place.
func (r *applyRef) separableHere() bool {
	return r != nil && r.NamedType != "" && r.ElementRelationship == "separable"
}

func (r *applyRef) element() *applyRef {
	switch {
	case r == nil:
		return nil
	case r.List != nil:
		return r.List.ElementType
	case r.Map != nil:
		return r.Map.ElementType
	default:
		return nil
	}
}

// listKeys is what stands between the brackets of a list.
func (r *applyRef) listKeys() string {
	switch {
	case r == nil || r.List == nil || r.List.ElementRelationship != "associative":
		return ""
	case len(r.List.Keys) == 0:
		return "set"
	default:
		return strings.Join(r.List.Keys, ",")
	}
}

// markers are the +name=value comments of a type or field.
type markers map[string][]string

// facts is what cannot be had by reflection.
type facts struct {
	// By OpenAPI name; the fields then by JSON name.
	applyTypes  map[string]*applyRef
	applyFields map[string]map[string]fieldFacts
	// By OpenAPI name, then Go field name; the empty name is the type itself.
	source map[string]map[string]markers
}

// fieldFacts is what server-side apply knows about a field.
type fieldFacts struct {
	ref *applyRef
	// fallback is the default as JSON; empty for none.
	fallback string
	note     string
}

// readFacts collects the facts about types.
func readFacts(types []reflect.Type) (*facts, error) {
	f := &facts{
		applyTypes:  map[string]*applyRef{},
		applyFields: map[string]map[string]fieldFacts{},
		source:      map[string]map[string]markers{},
	}
	if err := f.readApplySchema(); err != nil {
		return nil, err
	}
	for _, t := range types {
		if t.Kind() == reflect.Struct {
			f.shareWithInlined(openAPIName(t), t)
		}
	}
	packages := map[string]bool{}
	for _, t := range types {
		packages[t.PkgPath()] = true
	}
	return f, f.readSource(sortedKeys(packages))
}

// apply is what server-side apply knows about a field: from client-go's schema, else from the markers.
func (f *facts) apply(owner reflect.Type, field reflect.StructField) fieldFacts {
	source := f.source[openAPIName(owner)][field.Name]
	marked := fromMarkers(field, source)
	known, ok := f.applyFields[openAPIName(owner)][jsonName(field)]
	if !ok {
		return marked
	}
	if known.ref.listKeys() != marked.ref.listKeys() || known.ref.atomicHere() != marked.ref.atomicHere() {
		known.note = fmt.Sprintf("%s.%s: client-go says [%s] atomic=%v, the source says [%s] atomic=%v",
			openAPIName(owner), field.Name, known.ref.listKeys(), known.ref.atomicHere(),
			marked.ref.listKeys(), marked.ref.atomicHere())
	}
	if known.fallback != marked.fallback {
		known.note += fmt.Sprintf(" %s.%s: default %s, the source says %s",
			openAPIName(owner), field.Name, known.fallback, marked.fallback)
	}
	return known
}

func (f *facts) atomicStruct(t reflect.Type) bool {
	if ref, ok := f.applyTypes[openAPIName(t)]; ok {
		return ref.atomicHere()
	}
	return f.source[openAPIName(t)][""].value("structType") == "atomic"
}

// required follows the rule of the OpenAPI generator: a marker decides, else the JSON tag.
func (f *facts) required(owner reflect.Type, field reflect.StructField) bool {
	source := f.source[openAPIName(owner)][field.Name]
	switch {
	case source.has("required"):
		return true
	case source.has("optional"):
		return false
	default:
		return !omitsEmpty(field)
	}
}

// readApplySchema reads the schema out of the source of a client-go package that cannot be imported.
func (f *facts) readApplySchema() error {
	dirs, err := goList("-m", "-f", "{{.Dir}}", "k8s.io/client-go")
	if err != nil {
		return err
	}
	path := filepath.Join(dirs[0], "applyconfigurations", "internal", "internal.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	text := ""
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && strings.HasPrefix(literal.Value, "`types:") {
			text, err = strconv.Unquote(literal.Value)
		}
		return true
	})
	if err != nil || text == "" {
		return errors.Join(err, errors.New("no apply schema in client-go"))
	}
	var schema struct {
		Types []struct {
			Name string `json:"name"`
			applyRef
		} `json:"types"`
	}
	if err := yaml.Unmarshal([]byte(text), &schema); err != nil {
		return err
	}
	for i := range schema.Types {
		t := &schema.Types[i]
		f.applyTypes[t.Name] = &t.applyRef
		if t.Map == nil {
			continue
		}
		fields := map[string]fieldFacts{}
		for _, field := range t.Map.Fields {
			fields[field.Name] = fieldFacts{ref: field.Type, fallback: scalarJSON(string(field.Default))}
		}
		f.applyFields[t.Name] = fields
	}
	return nil
}

// shareWithInlined gives inlined structs, which client-go's schema flattens away, the facts of the outer one.
func (f *facts) shareWithInlined(outer string, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		if !isInline(field) {
			continue
		}
		inner := openAPIName(field.Type)
		for j := range field.Type.NumField() {
			name := jsonName(field.Type.Field(j))
			known, ok := f.applyFields[outer][name]
			if !ok {
				continue
			}
			if f.applyFields[inner] == nil {
				f.applyFields[inner] = map[string]fieldFacts{}
			}
			f.applyFields[inner][name] = known
		}
		f.shareWithInlined(outer, field.Type)
	}
}

// readSource collects the markers from the source of packages.
func (f *facts) readSource(packages []string) error {
	lines, err := goList(append([]string{"-f", "{{.Dir}}\t{{.ImportPath}}"}, packages...)...)
	if err != nil {
		return err
	}
	for _, line := range lines {
		dir, importPath, _ := strings.Cut(line, "\t")
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		sort.Strings(files)
		for _, path := range files {
			base := filepath.Base(path)
			if strings.HasPrefix(base, "zz_generated") || strings.HasPrefix(base, "generated") || strings.HasSuffix(base, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			f.readFile(importPath, file)
		}
	}
	return nil
}

func (f *facts) readFile(importPath string, file *ast.File) {
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, spec := range general.Specs {
			spec := spec.(*ast.TypeSpec)
			fields := map[string]markers{"": readMarkers(general.Doc, spec.Doc)}
			f.source[sourceName(importPath, spec.Name.Name)] = fields
			structure, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					fields[name.Name] = readMarkers(field.Doc)
				}
				// An embedded struct is called like its type.
				if selector, ok := field.Type.(*ast.SelectorExpr); ok && len(field.Names) == 0 {
					fields[selector.Sel.Name] = readMarkers(field.Doc)
				}
			}
		}
	}
}

func sourceName(importPath, name string) string {
	host, rest, _ := strings.Cut(importPath, "/")
	first, second, _ := strings.Cut(host, ".")
	return second + "." + first + "." + strings.ReplaceAll(rest, "/", ".") + "." + name
}

func readMarkers(groups ...*ast.CommentGroup) markers {
	found := markers{}
	for _, group := range groups {
		if group == nil {
			continue
		}
		for _, comment := range group.List {
			text := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			if !strings.HasPrefix(text, "+") {
				continue
			}
			name, value, _ := strings.Cut(text[1:], "=")
			found[name] = append(found[name], value)
		}
	}
	return found
}

func (m markers) has(name string) bool { return len(m[name]) > 0 }

func (m markers) value(name string) string {
	if !m.has(name) {
		return ""
	}
	return m[name][0]
}

// fromMarkers is what the markers of a field say, in the form of client-go's schema.
func fromMarkers(field reflect.StructField, m markers) fieldFacts {
	ref := &applyRef{}
	switch m.value("listType") {
	case "set":
		ref.List = &applyRef{ElementRelationship: "associative"}
	case "map":
		ref.List = &applyRef{ElementRelationship: "associative", Keys: m["listMapKey"]}
	}
	if m.value("mapType") == "atomic" || m.value("structType") == "atomic" {
		ref.ElementRelationship = "atomic"
	}
	fallback := scalarJSON(m.value("default"))
	if fallback == "" && !omitsEmpty(field) {
		switch field.Type.Kind() {
		case reflect.String:
			fallback = `""`
		case reflect.Bool:
			fallback = "false"
		case reflect.Int32, reflect.Int64, reflect.Float64:
			fallback = "0"
		}
	}
	return fieldFacts{ref: ref, fallback: fallback}
}

// scalarJSON keeps defaults that are scalars; the rest (mostly empty structs) says nothing a reader needs.
func scalarJSON(text string) string {
	var value any
	if text == "" || json.Unmarshal([]byte(text), &value) != nil {
		return ""
	}
	switch value.(type) {
	case string, bool, float64:
		return text
	default:
		return ""
	}
}

func goList(args ...string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}
