"""Names that Kubernetes, Python or the project cannot take."""

from __future__ import annotations

from pykb.diagnostics.model import Code

DOMAIN_NAME = Code(
    "domain-name",
    "the domain is no DNS name",
    "The domain is the end of every API group of the project (`infra` and `example.com` make "
    "`infra.example.com`), and a group is a DNS-1123 subdomain: lower case letters, digits, hyphens and dots, "
    "each part beginning and ending with a letter or digit.",
)

PROJECT_NAME = Code(
    "project-name",
    "the name of the project cannot be used",
    "The name of the project is the prefix of every object that it deploys "
    "(`<name>-controller-manager-metrics-service` must be a name of a Service: at most 63 characters, a letter "
    "first) and, with underscores for hyphens, the name of its Python package.",
)

PACKAGE_NAME = Code(
    "package-name",
    "the Python package of the project would hide another",
    "The project's package is named after the project. A package that has the name of a module of Python or of a "
    "library that an operator uses would be imported in its place.",
)

GROUP_NAME = Code(
    "group-name",
    "the API group is no DNS name",
    "An API group, with the domain behind it, is a DNS-1123 subdomain with at least one dot.",
)

GROUP_DOMAIN = Code(
    "group-domain",
    "the domain stands in the API group twice",
    "`--group` is the part in front of the project's domain: with the domain `example.com`, the group `infra` "
    "gives `infra.example.com`.",
)

VERSION_NAME = Code(
    "version-name",
    "the API version has no form that Kubernetes can order",
    "An API version is `v` and a number, and before it is stable `alpha` or `beta` and a number: `v1alpha1`, "
    "`v1beta2`, `v1`. Kubernetes orders versions by this form and picks the one that clients see first.",
)

KIND_NAME = Code(
    "kind-name",
    "the kind is not in PascalCase",
    "A kind is a class name: letters and digits, the first an upper case letter, at most 63 characters.",
)

KIND_TAKEN = Code(
    "kind-taken",
    "the kind has the name of something else",
    "The kind becomes a Python class in files that also import names of pykb, next to Python's own names. A class"
    " of the same name would hide one of them.",
)

PLURAL_NAME = Code(
    "plural-name",
    "the plural cannot be used",
    "The plural stands in URLs, RBAC rules and the name of the CRD: lower case letters, digits and hyphens, a "
    "letter first, at most 63 characters. It can never be changed. The default is controller-gen's, which repeats "
    "some acronyms that are not in capitals (`Dns` gives `dnsdnses`): for those, say `--plural`.",
)

CONTROLLER_NAME = Code(
    "controller-name",
    "the name of the controller cannot be used",
    "A controller's name is a DNS label with a letter first. It names the controller in logs and metrics, and "
    "with underscores its module. Two controllers of a project may not have the same name, nor names that give "
    "the same class.",
)

OWNER_NAME = Code(
    "owner-name",
    "the owner does not fit on one line",
    "The owner stands in the licence header at the top of every Python file, in a comment of one line.",
)

LICENSE_NAME = Code(
    "license-name",
    "no licence of this name",
    "`--license` takes `apache2` or `none`. For another licence give the header of your files by `--license-file`.",
)

LICENSE_FILE = Code(
    "license-file",
    "the licence header cannot be read",
    "`--license-file` names a UTF-8 text that becomes the comment at the top of every Python file. A Go or C "
    "block comment is understood.",
)

IMPORT_PATH = Code(
    "import-path",
    "the path to an external type is no Python module",
    "`--external-api-path` is the module that the type is imported from, as in `from <path> import <Kind>`.",
)

FLAG_CONFLICT = Code(
    "flag-conflict",
    "two options of the command contradict each other",
    "Both were given, and only one of them can be done.",
)

FLAG_REQUIRED = Code(
    "flag-required",
    "an option is missing",
    "The command cannot guess what the option says, and asks nobody, so that it works in scripts. The message "
    "names the option; several that are missing are all named at once.",
)
