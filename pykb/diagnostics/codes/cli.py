"""Mistakes on the command line itself."""

from __future__ import annotations

from pykb.diagnostics.model import Code

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
    "no diagnostic has this code",
    "`pykb explain` takes the code in the brackets of a message, such as `usage` from `error[usage]`. `pykb explain` "
    "without a code lists all codes.",
)
