"""Names that Kubernetes, Python or the project does not allow."""

from __future__ import annotations

from pykb.diagnostics.model import Code

DOMAIN_NAME = Code(
    "domain-name",
    "the domain is not a DNS name",
    "The domain is the end of every API group of the project: `infra` and `example.com` make `infra.example.com`. A "
    "group is a DNS-1123 subdomain. It contains lower-case letters, digits, hyphens and dots, and each part begins "
    "and ends with a letter or digit.",
)

PROJECT_NAME = Code(
    "project-name",
    "the name of the project cannot be used",
    "The project name is the prefix of every deployed object. `<name>-controller-manager-metrics-service` must be a "
    "valid Service name, with at most 63 characters and a letter first. With underscores in place of hyphens, it is "
    "also the name of the Python package.",
)

PACKAGE_NAME = Code(
    "package-name",
    "the Python package of the project would hide another",
    "The project's package is named after the project. If it has the name of a Python module or of a library that an "
    "operator uses, Python would import it instead of that module.",
)

GROUP_NAME = Code(
    "group-name",
    "the API group is not a DNS name",
    "An API group, including the domain, is a DNS-1123 subdomain with at least one dot.",
)

GROUP_DOMAIN = Code(
    "group-domain",
    "the API group contains the domain twice",
    "`--group` is the part in front of the project's domain: with the domain `example.com`, the group `infra` "
    "gives `infra.example.com`.",
)

VERSION_NAME = Code(
    "version-name",
    "the API version does not have the form of a Kubernetes version",
    "An API version is `v` and a number. Before it is stable, `alpha` or `beta` and a number follow: `v1alpha1`, "
    "`v1beta2`, `v1`. Kubernetes uses this form to order versions and to select the preferred one.",
)

KIND_NAME = Code(
    "kind-name",
    "the kind is not in PascalCase",
    "A kind is a class name. It has letters and digits, begins with an upper-case letter, and has at most 63 "
    "characters.",
)

KIND_TAKEN = Code(
    "kind-taken",
    "the kind has a name that is already used",
    "The kind becomes a Python class in files that also use names of pykb and of Python. A class with the same name "
    "would hide one of them.",
)

PLURAL_NAME = Code(
    "plural-name",
    "the plural cannot be used",
    "The plural is part of URLs, RBAC rules and the name of the CRD. It has lower-case letters, digits and hyphens, a "
    "letter first, and at most 63 characters. It can never be changed. The default is the same as in controller-gen, "
    "which repeats some acronyms that are not in capitals (`Dns` gives `dnsdnses`). Set `--plural` for those.",
)

CONTROLLER_NAME = Code(
    "controller-name",
    "the name of the controller cannot be used",
    "A controller's name is a DNS label that begins with a letter. It names the controller in logs and metrics and, "
    "with underscores, its module. Two controllers of a project must not have the same name, or names that give the "
    "same class.",
)

IMAGE_NAME = Code(
    "image-name",
    "the text is not the name of an image",
    "The name of an image is `[REGISTRY/]NAME[:TAG][@DIGEST]`, such as `registry.example.com/team/operator:v1.2.0`. "
    "NAME has lower-case letters, digits, `.`, `_`, `-` and `/`.",
)

OWNER_NAME = Code(
    "owner-name",
    "the owner does not fit on one line",
    "The owner is part of the licence header at the top of every Python file, in a comment of one line.",
)

LICENSE_NAME = Code(
    "license-name",
    "no licence has this name",
    "`--license` takes `apache2` or `none`. For another licence, pass the header with `--license-file`.",
)

LICENSE_FILE = Code(
    "license-file",
    "the licence header cannot be read",
    "`--license-file` names a UTF-8 text. pykb writes it as a comment at the top of every Python file. It also "
    "accepts a Go or C block comment.",
)

IMPORT_PATH = Code(
    "import-path",
    "the path of an external type is not a Python module",
    "`--external-api-path` is the module that the type is imported from, as in `from <path> import <Kind>`.",
)

FLAG_CONFLICT = Code(
    "flag-conflict",
    "two options of the command contradict each other",
    "The command cannot do what both options ask for. Remove one of them.",
)

FLAG_REQUIRED = Code(
    "flag-required",
    "a required option is missing",
    "The command cannot guess the value of the option. It does not prompt for it, so that it works in scripts. The "
    "message names all missing options.",
)
