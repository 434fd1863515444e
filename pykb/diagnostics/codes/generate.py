"""Mistakes in a run of ``pykb generate``: inputs, outputs, environment, and what markers of RBAC and webhooks say."""

from __future__ import annotations

from pykb.diagnostics.model import Code, note, warning

PATH_NOT_FOUND = Code(
    "generate-path",
    "A path for `pykb generate` has no files to read",
    "`--paths` takes a Python file, a package directory, or a directory tree (`./...` as in Go, or `DIR/...`). "
    "Without it, pykb reads the whole project: every package with an `api` folder, and all files for RBAC and webhook "
    "markers.",
)
PATH_OUTSIDE = Code(
    "generate-path-outside",
    "A path is outside the project",
    "pykb reads and imports only files below the project directory, so that the same project gives the same output "
    "everywhere.",
)
IMPORT_FAILED = Code(
    "import-failed",
    "An API module cannot be imported",
    "pykb generates schemas from the Python types, so it imports the modules of the `api` packages. The place shown "
    "is the line of your code that raised the exception.",
)
NO_GROUP = Code(
    "no-group-version",
    "A kind has no group and version",
    "A kind gets its group and version from `class Foo(CustomResource, group_version=GROUP_VERSION)`, or from "
    "the package "
    "markers `+groupName=` and `+versionName=`.",
)
DUPLICATE_KIND = Code(
    "duplicate-kind",
    "A kind is declared twice, or two kinds share a name",
    "Within a group, each kind and each plural belongs to one CRD. Within a version, a kind is declared only once.",
)
OUT_OF_DATE = Code(
    "out-of-date",
    "A generated file is out of date",
    "`pykb generate --check` compares without writing. Run `pykb generate` and commit the result.",
)
KIND_GONE = warning(
    "kind-gone",
    "The kind of a CRD no longer exists",
    "The class of a kind was removed or renamed. Its CRD is no longer generated, and the file is removed. A cluster "
    "does not change until the CRD is deleted there. Tools that delete what a repository no longer contains do that, "
    "and then all objects of the kind are deleted as well.\n\n"
    "A kind cannot be renamed: a class with another name is another kind, without objects. To move, create the new "
    "kind beside the old one, copy the objects, and then remove the old kind. Remove its roles, samples and tests and "
    "its entries in kustomizations and in PROJECT yourself. The message lists the files.",
)
MARKERS_GONE = warning(
    "markers-gone",
    "A manifest no longer has markers",
    "The last marker for a manifest was removed. Roles and webhook configurations are emptied, not deleted, because "
    "kustomizations and bindings refer to them, and a cluster keeps what was applied last. A role with obsolete rules "
    "would still grant them, and a webhook without a server would fail requests.",
)
HEADER_FILE = Code(
    "header-file",
    "The header file cannot be read",
    "`--header-file` names a text file. pykb writes the text before the first document of each generated file and "
    "replaces ` YEAR` in it by the value of `--year`.",
)
OPTION = Code(
    "generate-option",
    "An option of the generator has an invalid value",
    "Options come from the command line, from `[tool.pykb.generate]` in pyproject.toml, or from a command line in "
    "controller-gen's form.",
)
NEEDS_KUBERNETES = warning(
    "needs-kubernetes",
    "The oldest Kubernetes of the project lacks a feature",
    'A project with `kubernetes = ">=1.33"` in `[tool.pykb]` of pyproject.toml must work on that version. The API '
    "server of an older version refuses what it does not know, such as a function in a CEL rule, or drops it in "
    "silence, such as `selectableFields`. The message names the first version that has the feature. A function of CEL "
    "counts from the version that accepts it in a new object, which is one later than the release that brought it: "
    "before, the objects could not be read after a rollback.\n\n"
    "Write it in another way, or raise the version. `pykb deploy` and `pykb install` refuse older clusters.",
)
OPENAPI_FILE = Code(
    "openapi-file",
    "The descriptions of built-in types cannot be read",
    "`--builtin-descriptions` takes a file with the OpenAPI document of a cluster (`kubectl get --raw /openapi/v2`), "
    "or `cluster`, which reads it from the cluster of the kubeconfig and keeps it in `.pykb/openapi.json`.",
)
BREAKING_CHANGE = warning(
    "breaking-change",
    "A change of a CRD breaks stored objects or clients",
    "A CRD can change while its objects remain. The API server keeps stored objects, but drops fields that the new "
    "schema does not know, and rejects changes that the new schema does not allow. An operator cannot read an object "
    "that lacks a required field, unless the object is being deleted.\n\n"
    "`pykb generate` compares each CRD with the last committed one, or without git with the file that it replaces. "
    "It does not warn about a kind that was never committed, or that still has the example field. `--allow-breaking` "
    "turns the warnings off. For the whole project, set `allow-breaking = true` in `[tool.pykb.generate]`. "
    "`--check-compat REV` compares with any git revision, writes nothing, and exits with 1 if something breaks.",
)
REVISION = Code(
    "git-revision",
    "A git revision cannot be read",
    "`--check-compat` takes any git name of a commit: a branch, a tag, an abbreviated hash, `HEAD~3`. It needs git "
    "and the history. With a shallow clone in CI, fetch the commit first.",
)
NOTHING_FOUND = warning(
    "nothing-to-generate",
    "No kinds and no markers were found",
    "Nothing below the paths declares a kind or carries an RBAC or webhook marker.",
)


COMMAND_LINE = Code(
    "generate-command-line",
    "a word of a controller-gen command line is not understood",
    "`pykb generate` understands controller-gen's command line: generators with their options (`crd`, "
    "`rbac:roleName=x`, `webhook`), `paths=./...`, and output rules "
    "(`output:dir=D`, `output:crd:artifacts:config=D`, `output:stdout`). "
    "Options of one generator are separated by commas; lists by semicolons.",
)
COMMAND_LINE_GO = note(
    "generate-go-only",
    "a generator of Go code",
    "controller-gen's `object` and `applyconfiguration` generate Go code, which Python does not need. pykb accepts "
    "and ignores them, so that you can move a Makefile unchanged.",
)


RBAC_VERB = Code(
    "rbac-verb",
    "a verb that the Kubernetes API does not have",
    "The API server stores a rule with such a verb, but the rule never allows anything. Verbs are lower case: get, "
    "list, watch, create, update, patch, delete, deletecollection. A few resources have their own verbs (bind, "
    "escalate, impersonate, approve, sign, use). Rules for URLs use HTTP methods in lower case.",
)
RBAC_INCOMPLETE = Code(
    "rbac-incomplete",
    "a rule lacks a required part",
    "A rule is for resources (`groups` and `resources`) or for paths (`urls`), and has at least one verb. Write the "
    'core group, which has pods, services, secrets and so on, as `groups=""` or `groups=core`.',
)
RBAC_GROUP = Code(
    "rbac-group",
    "a value of `groups` is not an API group",
    "`groups` takes names such as `apps` or `infra.example.com`, without a version. A rule applies to all versions of "
    "a group.",
)
RBAC_RESOURCE = Code(
    "rbac-resource",
    "a value of `resources` is not a resource",
    "`resources` takes plural names in lower case (`deployments`, not `Deployment`), with an optional subresource "
    "(`deployments/status`).",
)
RBAC_NAMES = warning(
    "rbac-names",
    "resource names do not work with these verbs",
    "When a request creates an object or deletes a collection, the authorizer does not know any object name. A rule "
    "with `resourceNames` therefore never allows `create` or `deletecollection`. It allows `list` and `watch` only "
    "for requests with a field selector on `metadata.name`.",
)
RBAC_URL = Code(
    "rbac-url",
    "a rule for URLs is invalid",
    "Paths such as `/metrics` have no namespace and no API group. Such a rule belongs in a ClusterRole and cannot be "
    "combined with resources. `*` is a wildcard only as the last character.",
)
RBAC_ROLE = Code(
    "rbac-role",
    "a role or namespace cannot have this name",
    "`namespace` is a DNS label. `roleName` is a path segment, which cannot contain a slash or a per cent sign.",
)


WEBHOOK_NAME = Code(
    "webhook-name",
    "the API server rejects the name of a webhook",
    "The name of an admission webhook is a DNS name with at least three parts, such as `mfoo-v1.kb.io`. It must be "
    "unique in its configuration.",
)
WEBHOOK_CLIENT = Code(
    "webhook-client",
    "the address of a webhook is invalid",
    "The API server calls a webhook either through a Service of the cluster or at a `url`. For a Service, set `path`, "
    "and `serviceName`, `serviceNamespace` and `servicePort` if they differ from the scaffolded ones. A `url` uses "
    "https and has a host, but no user, query or fragment.",
)
WEBHOOK_PATH = Code(
    "webhook-path",
    "the path of a webhook is invalid or misleading",
    "Each part of the path has only lower-case letters, digits, hyphens and dots. By convention the path is "
    "`/mutate-<group>-<version>-<kind>` or `/validate-...`, with hyphens in place of the dots of the group. The "
    "manager serves its webhooks there.",
)
WEBHOOK_RULE = Code(
    "webhook-rule",
    "the rule of a webhook matches nothing or is invalid",
    "Groups, versions, resources and verbs select the requests for the webhook. None may be empty. `*` cannot be "
    "combined with other values. Resources are plural names in lower case, as in URLs.",
)
WEBHOOK_SIDE_EFFECTS = Code(
    "webhook-side-effects",
    "a webhook does not declare its side effects",
    "admissionregistration.k8s.io/v1 requires `sideEffects`. Use `None`, or `NoneOnDryRun` for a webhook that changes "
    "other things except in a dry run.",
)
WEBHOOK_REVIEW = Code(
    "webhook-review",
    "a setting of a webhook has no effect or can never work",
    "The API server sends AdmissionReview in version v1 or v1beta1, so the webhook must accept one of them. Only "
    "mutating webhooks can be called again after other webhooks.",
)
WEBHOOK_PATCH = Code(
    "webhook-patch",
    "the patch of a webhook cannot be applied",
    "`patch` is a JSON object that is merged into the generated webhook. Objects are merged, lists are replaced, and "
    "null removes a field. Its keys are fields of a webhook, as in "
    'patch=`{"namespaceSelector":{"matchLabels":{"team":"infra"}}}`.',
)
WEBHOOK_DUPLICATE = Code(
    "webhook-duplicate",
    "two webhooks or configurations have the same name",
    "All mutating webhooks of a project are in one configuration object, all validating webhooks in another. Webhook "
    "names are unique within an object, and each object has one name.",
)
WEBHOOK_CONFIGURATION = warning(
    "webhook-configuration",
    "a webhook configuration has no effect or an invalid name",
    "`+kubebuilder:webhookconfiguration` only names the object that contains the webhooks. Without a webhook of that "
    "type, the object does not exist.",
)
