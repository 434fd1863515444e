"""Mistakes in markers: their names, places, arguments."""

from __future__ import annotations

from pykb.diagnostics.model import Code, note, warning

MARKER_UNKNOWN = Code(
    "marker-unknown",
    "a marker that pykb does not know",
    "A comment has the form of a marker (`# +name...`), but no marker has this name. controller-gen silently ignores "
    "such a line, so a typo weakens the schema. pykb reports an error.\n\n"
    "Names are case-sensitive: `+kubebuilder:validation:MaxLength` is a marker, `...:Maxlength` and `...:maxLength` "
    "are not. docs/reference/markers.md lists all names. Do not start other comments with a plus sign.",
)
MARKER_SYNTAX = Code(
    "marker-syntax",
    "a marker has a syntax error",
    "The form of the line is wrong. Examples are a blank after the plus sign or around `=`, `:=` in a marker with "
    "named arguments, or a trailing comment that became part of the value.\n\n"
    "A marker is one comment line: `# +name`, `# +name=value`, or `# +name:argument=value,argument=value`. Only the "
    "`+k8s:` family allows a trailing `# comment`.",
)
DECLARED_TWICE = Code(
    "declared-twice",
    "a name is declared twice in one scope",
    "Python keeps the later of two declarations, or the one in the branch that ran. The source does not show which. "
    "Markers of the other declaration would be silently lost. Make the value depend on a condition, not the "
    "declaration: an alias or a default can.",
)
MARKER_TARGET = Code(
    "marker-target",
    "a marker does not apply to this declaration",
    "Every marker describes a package, a type (a class or an alias), a field, or several of them. This marker is on "
    "another kind of declaration, where controller-gen would ignore it.\n\n"
    "Put field markers directly above the annotated attribute, type markers directly above the class (or its "
    "decorators), and package markers in a separate comment block at the top of the module.",
)
MARKER_ARGUMENT = Code(
    "marker-argument",
    "an argument of a marker has an invalid value",
    "The value does not have the type of the argument, or is not one of the allowed values.\n\n"
    "A string is bare, in double quotes (with Go's escapes), or in back-ticks (without escapes, best for patterns and "
    "CEL). A list is `a;b;c` or `{a, b, c}`, a map `{key: value}`, a boolean `true` or `false`. A bare string ends at "
    "`,`, `;` and `}`. Single quotes are not quotes. They would become part of the value.",
)
MARKER_ARGUMENT_UNKNOWN = Code(
    "marker-argument-unknown",
    "a marker does not have this argument",
    "The marker exists, but the argument does not. Argument names are case-sensitive and follow controller-gen, which "
    "is not consistent: `printcolumn` takes `JSONPath`, the scale subresource `specpath`.",
)
MARKER_ARGUMENT_MISSING = Code(
    "marker-argument-missing",
    "a marker lacks a required argument",
    "The marker needs this argument. `pykb explain +<marker>` shows all arguments with an example.",
)
MARKER_REPEATED = Code(
    "marker-repeated",
    "a marker with a single value is repeated on one declaration",
    "Only one of the values can apply. controller-gen silently takes the last. Remove one of the two.\n\n"
    "Markers that add up, such as `printcolumn`, `XValidation`, `listMapKey` or `rbac`, may be repeated.",
)
MARKER_CONFLICT = Code(
    "marker-conflict",
    "two markers on one declaration contradict each other",
    "Examples are `+optional` with `+required`, a minimum above the maximum, or two spellings of one constraint with "
    "different values. controller-gen silently picks one. pykb reports an error.",
)
MARKER_DETACHED = Code(
    "marker-detached",
    "a marker does not belong to a declaration",
    "The marker is in a place where it describes nothing: at the end of a line of code, inside a function, at the end "
    "of a class, or too far above a declaration. controller-gen silently ignores such markers.\n\n"
    "A marker applies in the comment block directly above a class, an alias or an annotated attribute (also above its "
    "decorators), and in the next block above if only blank lines separate the two. RBAC and webhook markers apply "
    "anywhere in a file, on a line of their own.",
)
MARKER_GO_ONLY = note(
    "marker-go-only",
    "a marker affects only Go code generators",
    "Ported files may keep markers such as `+kubebuilder:object:generate=true` or `+genclient`. They have no effect "
    "in Python, because Pydantic models need no generated deep copies, clients or apply configurations.",
)
MARKER_FOREIGN = warning(
    "marker-foreign",
    "a comment that looks like a marker of another tool",
    "The comment starts with a plus sign and a word, is on a declaration, and is not similar to any marker of pykb. "
    "It has no effect. If it is ordinary text, start it with another character.",
)
SOURCE_SYNTAX = Code(
    "source-syntax",
    "a Python file does not parse",
    "pykb reads markers and descriptions from the syntax tree of the file. The file must be valid Python for the "
    "version that runs pykb. Nothing is generated from a file that does not parse.",
)
SOURCE_UNREADABLE = Code(
    "source-unreadable",
    "A source file is not text",
    "Python source is UTF-8, unless its first lines declare another encoding. This file contains bytes that cannot be "
    "decoded.",
)
