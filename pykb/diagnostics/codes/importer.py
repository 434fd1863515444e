"""Mistakes in the input of `pykb import crd`."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

SOURCE_MISSING = Code(
    "import-source-missing",
    "A source of an import cannot be read",
    "A source is a file, a folder with YAML or JSON files in it, `-` for standard input, or `cluster://NAME` for CRDs "
    "in the cluster of the kubeconfig.",
)
SOURCE_BROKEN = Code(
    "import-source-broken",
    "A source of an import is not YAML",
    "Manifests are YAML or JSON in UTF-8, with one or several documents in a file. They may be nested up to 100 "
    "levels deep and have up to five million values with all aliases expanded.",
)
NO_CRD = Code(
    "import-no-crd",
    "A source has no CustomResourceDefinition to import",
    "Types are generated from CRDs (`apiextensions.k8s.io/v1`), single ones or in a List. Give each CRD only once.",
)
CRD_OLD = Code(
    "import-crd-old",
    "A CRD has a version that API servers no longer read",
    "Kubernetes 1.22 removed `apiextensions.k8s.io/v1beta1`. Its schemas need not be structural, so pykb cannot "
    "import them unchanged.",
)
CRD_INCOMPLETE = Code(
    "import-crd-incomplete",
    "A CRD lacks a required part",
    "A CRD has a group, names, and versions that each have a schema.",
)
CRD_FORM = Code(
    "import-crd-form",
    "A CRD has a value of the wrong form",
    "An API server would reject this CRD, for example because it has a list instead of a string. Some such values "
    "come from YAML: `name: 1` is a number, `- true` a boolean.",
)
CRD_NOT_KEPT = Code(
    "import-not-kept",
    "A detail of a CRD has no counterpart in Python",
    "A CRD that is generated from the imported types differs from the original in this detail. Schemas never differ.",
    Severity.WARNING,
)
OUTPUT_NAME = Code(
    "import-output",
    "The output folder cannot be a Python package",
    "The folder becomes a Python package, so its name must work in `import`: letters, digits and `_`, no digit first, "
    "not a Python keyword. At the top level of a project, it must not hide a Python module or a library that an "
    "operator uses. Inside a package any valid name works.",
)
FOLDER_CLASH = Code(
    "import-folder-clash",
    "Two API groups would share one folder",
    "A group's folder is the group's name with `_` in place of every other character. Different groups can therefore "
    "have the same folder.",
)
KINDS_LOST = Code(
    "import-kinds-lost",
    "An import would remove kinds of an earlier import",
    "All kinds of a group and version share one module, because they share types. pykb writes the whole module, so "
    "import all CRDs of the group together.",
)
