package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

const protobufHeader = `# The protobuf form of the built-in Kubernetes types, read off their Go types. Written by xtask/schema; do not edit.
#
# Every type of Kubernetes %s, also those that later versions no longer have. A field has one
# number and one meaning in all of them. Modules:
%s#
# message NAME [or]      field lines follow; "or" when JSON has one of the fields in place of the whole: the one with
#                        the highest number that is there; with none of them false or [] if field 1 is of that
#                        form, else null
# kind KIND VERSION...   the message above is this top-level kind in these apiVersions; * for all of them
# NUMBER NAME TYPE       a field and its JSON name; ! when JSON has it even if it is zero
# NUMBER ^ TYPE          a message whose fields JSON has beside those of the outer one
#
# A TYPE is string bytes bool int32 int64 number, or a message with a JSON form of its own: time microtime
# quantity intstr, json (JSON text in field 1); or the name of a message. *T is a Go pointer: its zero is not the
# same as its absence. []T is repeated, {}T a map with string keys.
`

// message is the protobuf form of one Go type.
type message struct {
	name string
	// or is true when JSON has one of the fields in place of the whole.
	or bool
	// kinds has the apiVersions of each kind.
	kinds map[string][]string
	// fields has the rest of the line by number.
	fields map[int]string
}

// writeProtobuf writes the types of all versions, or only of the one that this program is linked with.
func writeProtobuf(out *bufio.Writer, one bool) error {
	if one {
		writeMessages(out, protobufMessages())
		return nil
	}
	messages := map[string]*message{}
	for _, m := range protobufMessages() {
		messages[m.name] = m
	}
	names, err := olderModfiles()
	if err != nil {
		return err
	}
	for _, name := range names {
		older, err := olderMessages(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, m := range older {
			if err := merge(messages, m); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	header, err := modulesHeader(names)
	if err != nil {
		return err
	}
	out.WriteString(header)
	list := make([]*message, 0, len(messages))
	for _, name := range sortedKeys(messages) {
		list = append(list, messages[name])
	}
	writeMessages(out, list)
	return nil
}

// protobufMessages lists the messages that the kinds of the linked version are made of.
func protobufMessages() []*message {
	kinds := rootKinds()
	versions := map[string]bool{}
	for _, names := range kinds {
		for _, list := range names {
			for _, version := range list {
				versions[version] = true
			}
		}
	}
	var list []*message
	for _, t := range reachable(kinds) {
		if !isMessage(t) || special(t) == "any" && !isOr(t) {
			continue
		}
		m := &message{name: messageName(t), or: isOr(t), kinds: map[string][]string{}, fields: map[int]string{}}
		for kind, apiVersions := range kinds[t] {
			// The kinds of requests and watches are in every version that there is.
			if len(apiVersions) > len(versions)/2 {
				apiVersions = []string{"*"}
			}
			m.kinds[kind] = apiVersions
		}
		if t.Kind() == reflect.Slice {
			m.fields[1] = "items! []" + protobufType(t.Elem())
			list = append(list, m)
			continue
		}
		for i := range t.NumField() {
			f := t.Field(i)
			number, err := strconv.Atoi(protobufNumber(f))
			if err != nil {
				continue
			}
			m.fields[number] = protobufField(f)
		}
		list = append(list, m)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].name < list[j].name })
	return list
}

func protobufField(f reflect.StructField) string {
	if isInline(f) {
		return "^ " + messageName(f.Type)
	}
	name := jsonName(f)
	if name == "" {
		// Only in types with a JSON form of their own, where the name is for people.
		name = strings.ToLower(f.Name[:1]) + f.Name[1:]
	}
	if !omitsEmpty(f) {
		name += "!"
	}
	return name + " " + protobufType(f.Type)
}

func protobufType(t reflect.Type) string {
	if isOr(t) {
		return messageName(t)
	}
	switch name := special(t); name {
	case "":
	case "any":
		return "json"
	default:
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + protobufType(t.Elem())
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
	case reflect.Map:
		return "{}" + protobufType(t.Elem())
	case reflect.Slice:
		if isMessage(t) {
			return messageName(t)
		}
		return "[]" + protobufType(t.Elem())
	case reflect.Struct:
		return messageName(t)
	default:
		panic(fmt.Sprintf("no word for %s", t))
	}
}

func messageName(t reflect.Type) string { return short(openAPIPackage(t)) + "." + t.Name() }

// isOr is about types whose JSON is that of one of their protobuf fields: those that have several forms and a field
// for each, and lists that are messages.
func isOr(t reflect.Type) bool {
	if t.Kind() == reflect.Slice {
		return isMessage(t)
	}
	if special(t) != "any" {
		return false
	}
	fields := 0
	for i := range t.NumField() {
		if protobufNumber(t.Field(i)) != "-" {
			fields++
		}
	}
	return fields > 1
}

func writeMessages(out *bufio.Writer, messages []*message) {
	for _, m := range messages {
		fmt.Fprintf(out, "\nmessage %s", m.name)
		if m.or {
			out.WriteString(" or")
		}
		out.WriteString("\n")
		for _, kind := range sortedKeys(m.kinds) {
			sort.Strings(m.kinds[kind])
			fmt.Fprintf(out, "kind %s %s\n", kind, strings.Join(m.kinds[kind], " "))
		}
		numbers := make([]int, 0, len(m.fields))
		for number := range m.fields {
			numbers = append(numbers, number)
		}
		sort.Ints(numbers)
		for _, number := range numbers {
			fmt.Fprintf(out, "%d %s\n", number, m.fields[number])
		}
	}
}

// olderModfiles names the modules of older versions, the latest first.
func olderModfiles() ([]string, error) {
	names, err := filepath.Glob("versions/*.mod")
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	return names, err
}

// olderMessages asks this program, linked with the modules of an older version.
func olderMessages(modfile string) ([]*message, error) {
	command := exec.Command("go", "run", "-modfile="+modfile, ".", "protobuf-one")
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return nil, err
	}
	return readMessages(bytes.NewReader(text))
}

// readMessages reads what writeMessages wrote.
func readMessages(text io.Reader) ([]*message, error) {
	var list []*message
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		if words[0] == "" {
			continue
		}
		if words[0] == "message" {
			m := &message{name: words[1], or: len(words) > 2, kinds: map[string][]string{}, fields: map[int]string{}}
			list = append(list, m)
			continue
		}
		m := list[len(list)-1]
		if words[0] == "kind" {
			m.kinds[words[1]] = words[2:]
			continue
		}
		number, err := strconv.Atoi(words[0])
		if err != nil {
			return nil, err
		}
		m.fields[number] = strings.Join(words[1:], " ")
	}
	return list, lines.Err()
}

// merge adds what an older version has and later ones have not.
func merge(into map[string]*message, older *message) error {
	newer, ok := into[older.name]
	if !ok {
		into[older.name] = older
		return nil
	}
	for kind, versions := range older.kinds {
		for _, version := range versions {
			if !contains(newer.kinds[kind], version) {
				newer.kinds[kind] = append(newer.kinds[kind], version)
			}
		}
	}
	for number, line := range older.fields {
		known, ok := newer.fields[number]
		if ok && !sameField(known, line) {
			return fmt.Errorf("field %d of %s is %q, but was %q", number, older.name, known, line)
		}
		if !ok && hasName(newer, jsonNameOf(line)) {
			return fmt.Errorf("field %q of %s has another number than it had", line, older.name)
		}
		if !ok {
			newer.fields[number] = line
		}
	}
	return nil
}

// sameField is true if both lines give the bytes the same meaning. What JSON shows may change; the latest is right.
func sameField(a, b string) bool {
	return strings.Replace(a, "!", "", 1) == strings.Replace(b, "!", "", 1)
}

func jsonNameOf(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return strings.TrimSuffix(name, "!")
}

func hasName(m *message, name string) bool {
	for _, line := range m.fields {
		if jsonNameOf(line) == name {
			return true
		}
	}
	return false
}

func contains(list []string, wanted string) bool {
	for _, item := range list {
		if item == wanted {
			return true
		}
	}
	return false
}

// modulesHeader says which modules the table was read off.
func modulesHeader(olderNames []string) (string, error) {
	modules := ""
	first, last := "", ""
	for _, name := range append([]string{"go.mod"}, olderNames...) {
		line, version, err := modulesLine(name)
		if err != nil {
			return "", err
		}
		first = "1." + strings.Split(version, ".")[1]
		if last == "" {
			last = first
		}
		modules += line
	}
	return fmt.Sprintf(protobufHeader, first+" to "+last, modules), nil
}

// modulesLine says which modules a file of modules stands for, and their version. A test reads it: a table must be of
// the modules that the files name.
func modulesLine(modfile string) (line, version string, err error) {
	lines, err := goList("-modfile="+modfile, "-m", "-f", "{{.Path}} {{.Version}}",
		"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/kube-aggregator")
	if err != nil {
		return "", "", err
	}
	version = strings.Fields(lines[0])[1]
	paths := make([]string, 0, len(lines))
	for _, line := range lines {
		paths = append(paths, strings.TrimPrefix(strings.Fields(line)[0], "k8s.io/"))
	}
	return fmt.Sprintf("#   %s of k8s.io: %s\n", version, strings.Join(paths, ", ")), version, nil
}
