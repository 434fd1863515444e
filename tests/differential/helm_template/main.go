// Renders and lints charts with Helm's own code. Helm's command line takes longer to build.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

type request struct {
	Chart     string                 `json:"chart"`
	Release   string                 `json:"release"`
	Namespace string                 `json:"namespace"`
	Values    map[string]interface{} `json:"values"`
}

type answer struct {
	Findings  []string `json:"findings"`
	Manifests string   `json:"manifests"`
	Notes     string   `json:"notes"`
	Error     string   `json:"error"`
}

func main() {
	asked := json.NewDecoder(os.Stdin)
	for asked.More() {
		var each request
		if err := asked.Decode(&each); err != nil {
			panic(err)
		}
		got, err := render(each)
		if err != nil {
			got.Error = err.Error()
		}
		if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
			panic(err)
		}
	}
}

func render(asked request) (answer, error) {
	got := answer{Findings: []string{}}
	for _, finding := range lint.All(asked.Chart, asked.Values, asked.Namespace, true).Messages {
		if finding.Severity > support.InfoSev {
			got.Findings = append(got.Findings, finding.Error())
		}
	}
	chart, err := loader.Load(asked.Chart)
	if err != nil {
		return got, err
	}
	release := chartutil.ReleaseOptions{Name: asked.Release, Namespace: asked.Namespace, IsInstall: true}
	values, err := chartutil.ToRenderValues(chart, asked.Values, release, nil)
	if err != nil {
		return got, err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return got, err
	}
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		switch text := files[name]; {
		case path.Base(name) == "NOTES.txt":
			got.Notes = text
		case strings.TrimSpace(text) != "":
			got.Manifests += fmt.Sprintf("---\n%s\n", text)
		}
	}
	return got, nil
}
