"""Mistakes in markers: their names, places, arguments."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

MARKER_UNKNOWN = Code(
    "marker-unknown",
    "a marker that pykb does not know",
    "a comment starts like a marker (`# +name...`), but no marker has this name. controller-gen drops such a line "
    "without a word, so that a typo silently weakens the schema; pykb stops.\n\n"
    "Names are case-sensitive: `+kubebuilder:validation:MaxLength` is a marker, `...:Maxlength` and "
    "`...:maxLength` are not. All names are in docs/reference/markers.md. A comment that is no marker at all "
    "should not start with a plus sign.",
)
MARKER_SYNTAX = Code(
    "marker-syntax",
    "a marker that is not written as markers are",
    "The shape of the line is wrong: a blank after the plus sign or around `=`, `:=` where the marker has named "
    "arguments, a trailing comment that became a part of the value.\n\n"
    "a marker is one comment line: `# +name`, `# +name=value`, or `# +name:argument=value,argument=value`. Only "
    "the `+k8s:` family takes a trailing `# comment`.",
)
DECLARED_TWICE = Code(
    "declared-twice",
    "a name that is declared twice in one scope",
    "Python keeps the later of two declarations, or that of the branch which ran; the source does not say which. "
    "Markers of the other one would be lost without a word. Choose between values, not between declarations: an alias "
    "or a default can depend on a condition.",
)
MARKER_TARGET = Code(
    "marker-target",
    "a marker on a declaration that it does not apply to",
    "Every marker describes a package, a type (a class or an alias), a field, or several of them. This one stands "
    "on another kind of declaration, where controller-gen would ignore it.\n\n"
    "Put field markers directly above the annotated attribute, type markers directly above the class (or its "
    "decorators), package markers in a comment block of their own at the top of the module.",
)
MARKER_ARGUMENT = Code(
    "marker-argument",
    "an argument of a marker that cannot be read or is out of range",
    "The value does not have the type that the argument takes, or not one of the values that it allows.\n\n"
    "Strings are written bare, in double quotes (with Go's escapes), or in back-ticks (nothing is escaped: best "
    "for patterns and CEL). Lists are `a;b;c` or `{a, b, c}`, maps `{key: value}`, booleans `true` and `false`. A "
    "bare string ends at `,`, `;` and `}`. Single quotes are no quotes: they would become a part of the value.",
)
MARKER_ARGUMENT_UNKNOWN = Code(
    "marker-argument-unknown",
    "a marker is given an argument that it does not have",
    "The marker is known, the argument is not. Argument names are case-sensitive and follow controller-gen, which "
    "is not consistent: `printcolumn` takes `JSONPath`, the scale subresource `specpath`.",
)
MARKER_ARGUMENT_MISSING = Code(
    "marker-argument-missing",
    "a marker lacks an argument that it needs",
    "The marker makes no sense without this argument. `pykb explain +<marker>` shows all arguments with an example.",
)
MARKER_REPEATED = Code(
    "marker-repeated",
    "a marker with a single value stands twice on one declaration",
    "Only one of the values can count, and controller-gen silently takes the last. Remove one of the two.\n\n"
    "Markers that add up, such as `printcolumn`, `XValidation`, `listMapKey` or `rbac`, may be repeated.",
)
MARKER_CONFLICT = Code(
    "marker-conflict",
    "two markers on one declaration contradict each other",
    "For example `+optional` with `+required`, a minimum above the maximum, or a second spelling of the same "
    "constraint with another value. controller-gen picks one by an order of its own; pykb asks.",
)
MARKER_DETACHED = Code(
    "marker-detached",
    "a marker that belongs to no declaration",
    "The marker stands where it describes nothing: at the end of a line of code, inside a function, at the end of "
    "a class, or too far above a declaration. controller-gen drops such markers without a word.\n\n"
    "Markers count in the comment block directly above a class, an alias or an annotated attribute (also above "
    "its decorators), and in the next block above, if only blank lines separate the two. RBAC and webhook markers "
    "count anywhere in a file, on a line of their own.",
)
MARKER_GO_ONLY = Code(
    "marker-go-only",
    "a marker that only means something to Go code generators",
    "Ported files may keep markers such as `+kubebuilder:object:generate=true` or `+genclient`. They have no "
    "effect in Python: Pydantic models need no generated deep copies, clients or apply configurations.",
    Severity.NOTE,
)
MARKER_FOREIGN = Code(
    "marker-foreign",
    "a comment that looks like a marker of another tool",
    "The comment starts with a plus sign and a word, stands on a declaration, and no marker of pykb has a similar "
    "name. It has no effect. If it is prose, start it with another character.",
    Severity.WARNING,
)
SOURCE_SYNTAX = Code(
    "source-syntax",
    "a Python file that does not parse",
    "Markers and descriptions are read from the syntax tree of the file, so it must be valid Python of the "
    "version that runs pykb. Nothing is generated from a file that does not parse.",
)
SOURCE_UNREADABLE = Code(
    "source-unreadable",
    "A source file that is no text",
    "Python source is UTF-8 unless its first lines declare another encoding. This file has bytes that cannot be "
    "decoded.",
)
