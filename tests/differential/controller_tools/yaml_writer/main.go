// Writes and reads documents as controller-gen and the API server do, for comparison with pykb.
//
// Reads lines of JSON and answers each with one line: an object with {"text": "...as YAML"}, a string, which is YAML,
// with {"text": "...as JSON"}, either with {"error": "..."}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

type answer struct {
	Error string `json:"error,omitempty"`
	Text  string `json:"text,omitempty"`
}

func answerTo(line []byte) (result answer) {
	var document string
	if json.Unmarshal(line, &document) == nil {
		read, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answer{Text: string(read)}
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return answer{Error: err.Error()}
	}
	text, err := yaml.Marshal(numbers(object))
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Text: string(text)}
}

// numbers makes fractions what they are in Go types: float64. Integers keep their text.
func numbers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = numbers(inner)
		}
	case []any:
		for index, inner := range value {
			value[index] = numbers(inner)
		}
	case json.Number:
		if number, err := value.Float64(); err == nil && strings.ContainsAny(value.String(), ".eE") {
			return number
		}
	}
	return value
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	encode := json.NewEncoder(out)
	encode.SetEscapeHTML(false)
	for lines.Scan() {
		if err := encode.Encode(answerTo(lines.Bytes())); err != nil {
			panic(err)
		}
		if err := out.Flush(); err != nil {
			panic(err)
		}
	}
}
