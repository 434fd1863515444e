"""Mistakes on the command line itself."""

from __future__ import annotations

from pykb.diagnostics.model import Code

UNKNOWN_COMMAND = Code(
    "unknown-command",
    "no command of this name",
    "The words after `pykb` name no command. `pykb --help` lists them all.",
)

UNKNOWN_OPTION = Code(
    "unknown-option",
    "a command has no option of this name",
    "Every command lists its options with `--help`. kubebuilder's spellings (`--namespaced=false`, `-domain x`) "
    "are understood where pykb has the option.",
)

USAGE = Code(
    "usage",
    "the command line cannot be understood",
    "An option misses its value, has a value of the wrong type, or a needed argument is absent.",
)

MISSING_VALUE = Code(
    "missing-value",
    "an option was given without its value",
    "The word after the option starts with `-`, so it is the next option and not the value. A value that really "
    "starts with `-` is written with an equals sign: `--owner=-x`.",
)

INTERNAL_ERROR = Code(
    "internal-error",
    "pykb failed on something it did not expect",
    "This is a bug in pykb, not in your project. Run the command again with `--verbose` and report what it prints.",
)

SYSTEM_ERROR = Code(
    "system-error",
    "the operating system refused",
    "A file could not be read or written: no permission, no space, a read-only file system. The message carries "
    "the system's own words.",
)

NOT_ENCODED = Code(
    "not-text",
    "a file is no UTF-8 text",
    "pykb reads and writes UTF-8 only. Convert the file, for example with `iconv`.",
)

UNKNOWN_CODE = Code(
    "unknown-code",
    "no message has this code",
    "`pykb explain` takes the word in the brackets of a message, as in `error[usage]`. `pykb explain` alone lists all.",
)
