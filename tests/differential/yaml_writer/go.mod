module yamlwriter

go 1.26.0

require sigs.k8s.io/yaml v1.6.0
