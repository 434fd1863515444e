"""Mistakes in what `pykb import crd` is given."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

SOURCE_MISSING = Code(
    "import-source-missing",
    "A source of an import cannot be read",
    "A source is a file, a folder with YAML or JSON files below it, `-` for standard input, or `cluster://NAME` for "
    "what the cluster of the kubeconfig has.",
)
SOURCE_BROKEN = Code(
    "import-source-broken",
    "A source of an import is no YAML",
    "Manifests are YAML or JSON in UTF-8, one or several documents in a file. They may be "
    "nested 100 levels deep and, with all aliases written out, have five million values.",
)
NO_CRD = Code(
    "import-no-crd",
    "A source has no CustomResourceDefinition to import",
    "Types are made from CRDs (`apiextensions.k8s.io/v1`), single ones or in a List. Each may be given once.",
)
CRD_OLD = Code(
    "import-crd-old",
    "A CRD is of a version that API servers no longer read",
    "`apiextensions.k8s.io/v1beta1` went away in Kubernetes 1.22. Its schemas need not be structural, so they cannot "
    "be taken over as they are.",
)
CRD_INCOMPLETE = Code(
    "import-crd-incomplete",
    "A CRD lacks what its types are made of",
    "A CRD has a group, names, and versions with a schema each.",
)
CRD_FORM = Code(
    "import-crd-form",
    "A CRD has a value of the wrong form",
    "No API server would take a CRD with, say, a list where a text belongs. YAML makes some of them: `name: 1` is a "
    "number, `- true` a truth value.",
)
CRD_NOT_KEPT = Code(
    "import-not-kept",
    "A detail of a CRD has no counterpart in Python",
    "Generated from the imported types, the CRD differs in this detail from the one that was imported. Schemas "
    "never do.",
    Severity.WARNING,
)
OUTPUT_NAME = Code(
    "import-output",
    "The folder of an import cannot be a package",
    "The folder becomes a Python package, so its name is one that `import` takes: letters, digits and `_`, no digit "
    "first, no word of the language. At the top of a project it must not hide a module of Python or a library that "
    "an operator uses; inside of a package any name will do.",
)
FOLDER_CLASH = Code(
    "import-folder-clash",
    "Two API groups would share one folder",
    "A group's folder is its name with `_` for every other character, so groups can differ where folders do not.",
)
KINDS_LOST = Code(
    "import-kinds-lost",
    "An import would drop kinds that an earlier one made",
    "All kinds of a group and version are in one module, since they share types. It is written as a whole, so all "
    "CRDs of the group are imported together.",
)
