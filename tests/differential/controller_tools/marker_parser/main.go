// Parses markers with controller-gen's own registry and parser, for comparison with pykb's.
//
// Reads lines of JSON {"target": "field", "text": "+name=value"} and writes one line each:
// {"unknown": true}, {"error": "..."}, or {"name": "...", "arguments": {...}}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/controller-tools/pkg/rbac"
	"sigs.k8s.io/controller-tools/pkg/webhook"
)

type question struct {
	Target string `json:"target"`
	Text   string `json:"text"`
}

type answer struct {
	Unknown   bool           `json:"unknown,omitempty"`
	Error     string         `json:"error,omitempty"`
	Name      string         `json:"name,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

func main() {
	registry := &markers.Registry{}
	for _, register := range []func(*markers.Registry) error{
		crd.Generator{}.RegisterMarkers,
		rbac.Generator{}.RegisterMarkers,
		webhook.Generator{}.RegisterMarkers,
	} {
		if err := register(registry); err != nil {
			panic(err)
		}
	}
	targets := map[string]markers.TargetType{
		"package": markers.DescribesPackage,
		"type":    markers.DescribesType,
		"field":   markers.DescribesField,
	}
	if len(os.Args) > 1 && os.Args[1] == "definitions" {
		definitions(registry)
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := encode.Encode(parse(registry, targets[asked.Target], asked.Text)); err != nil {
			// An infinite number is a value for controller-gen's parser; writing it as JSON is what fails.
			if err := encode.Encode(answer{Error: err.Error()}); err != nil {
				panic(err)
			}
		}
	}
}

func parse(registry *markers.Registry, target markers.TargetType, text string) (result answer) {
	defer func() {
		if failure := recover(); failure != nil {
			result = answer{Error: fmt.Sprint("panic: ", failure)}
		}
	}()
	definition := registry.Lookup(text, target)
	if definition == nil {
		return answer{Unknown: true}
	}
	value, err := definition.Parse(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Name: definition.Name, Arguments: arguments(definition, reflect.ValueOf(value))}
}

func arguments(definition *markers.Definition, value reflect.Value) map[string]any {
	found := map[string]any{}
	for name, field := range definition.FieldNames {
		inner := value
		if field != "" {
			inner = value.FieldByName(field)
		}
		if inner.Kind() == reflect.Pointer {
			if inner.IsNil() {
				continue
			}
			inner = inner.Elem()
		}
		found[name] = inner.Interface()
	}
	return found
}

func definitions(registry *markers.Registry) {
	encode := json.NewEncoder(os.Stdout)
	for _, definition := range registry.AllDefinitions() {
		fields := map[string]any{}
		for name, argument := range definition.Fields {
			fields[name] = map[string]any{"type": argument.TypeString(), "optional": argument.Optional}
		}
		err := encode.Encode(map[string]any{
			"name": definition.Name, "target": definition.Target.String(), "arguments": fields,
		})
		if err != nil {
			panic(err)
		}
	}
}
