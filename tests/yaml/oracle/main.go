// Oracle answers what Kubernetes makes of a YAML document.
//
// It reads one JSON string a line from standard input and writes one JSON object a line:
// {"value": ...} as sigs.k8s.io/yaml converts the text, or {"error": "..."}; and in "v3" the same
// as go-yaml v3 reads it, for kustomize and newer tools. "strict" says whether keys are unique.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

type answer struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Error  string          `json:"error,omitempty"`
	Strict bool            `json:"strict"`
	V3     json.RawMessage `json:"v3,omitempty"`
}

func read(text string) (a answer) {
	value, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		a.Error = err.Error()
	} else {
		a.Value = value
	}
	_, err = yaml.YAMLToJSONStrict([]byte(text))
	a.Strict = err == nil
	defer func() { _ = recover() }() // go-yaml v3 panics on some texts; then there is no answer
	var other any
	if yamlv3.Unmarshal([]byte(text), &other) == nil {
		if encoded, err := json.Marshal(other); err == nil {
			a.V3 = encoded
		}
	}
	return a
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 256<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			panic(err)
		}
		if err := out.Encode(read(text)); err != nil {
			panic(err)
		}
	}
}
