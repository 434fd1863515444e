"""Mistakes on the command line: its words and options, and names that Kubernetes, Python or the project refuses."""

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


UNKNOWN_COMMAND = Code(
    "unknown-command",
    "no command of this name",
    "The words after `pykb` are not a command. `pykb --help` lists all commands.",
)

UNKNOWN_OPTION = Code(
    "unknown-option",
    "the command has no option of this name",
    "Every command lists its options with `--help`. kubebuilder's spellings (`--namespaced=false`, `-domain x`) are "
    "accepted for the options that pykb has.",
)

USAGE = Code(
    "usage",
    "the command line cannot be understood",
    "An option has no value or a value of the wrong type, or a required argument is missing.",
)

MISSING_VALUE = Code(
    "missing-value",
    "an option was given without its value",
    "The word after the option starts with `-`, so pykb reads it as the next option. To give a value that starts with "
    "`-`, write an equals sign: `--owner=-x`.",
)

INTERNAL_ERROR = Code(
    "internal-error",
    "pykb failed unexpectedly",
    "This is a bug in pykb, not in your project. Run the command again with `--verbose` and report what it prints.",
)

SYSTEM_ERROR = Code(
    "system-error",
    "the operating system refused an operation",
    "A file could not be read or written, for example because of missing permissions, a full disk or a read-only file "
    "system. The message quotes the system's error.",
)

NOT_ENCODED = Code(
    "not-text",
    "a file is not UTF-8 text",
    "pykb reads and writes UTF-8 only. Convert the file, for example with `iconv`.",
)

UNKNOWN_CODE = Code(
    "unknown-code",
    "nothing to explain has this name",
    "`pykb explain` takes the code in the brackets of a message, such as `usage` from `error[usage]`. It also takes a "
    "marker (`+kubebuilder:validation:Enum`), a page of the reference (`metrics`) and a name of the Python API "
    "(`pykb.runtime.Manager`). `pykb explain` without a name lists all codes.",
)
