"""What stops a scaffolding command before it writes anything."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

ANCHOR_MISSING = Code(
    "anchor-missing",
    "the place to insert at is gone",
    "Scaffolding adds lines above comments of the form `# +pykb:scaffold:<name>`. A file that has lost its "
    "comment cannot be added to; nothing is written, and the message carries the lines to paste by hand. Once "
    "they are there, the command goes on: what a file already does is not inserted again.",
)

FILE_EXISTS = Code(
    "file-exists",
    "a file that would be made is already there",
    "pykb never overwrites what you wrote. `--force` writes the file anew and keeps the old one in "
    "`.pykb/backup`; `--diff` shows what would change.",
)

FILE_CHANGED = Code(
    "file-changed",
    "a file changed while the command ran",
    "Everything is rendered before anything is written. Between the two someone else changed a file, so the plan "
    "no longer fits. Run the command again.",
)

FILE_BROKEN = Code(
    "file-broken",
    "a file that must be added to cannot be parsed",
    "Insertion is judged by the structure of a file, Python's or YAML's, so the file must be valid. Repair it, "
    "then run the command again.",
)

FILE_MISSING = Code(
    "file-missing",
    "a file that must be added to is not there",
    "The command adds lines to this file. Bring it back (git remembers it), or make an empty one with the anchor "
    "in it.",
)

PATH_OUTSIDE = Code(
    "path-outside",
    "a path leads out of the project",
    "pykb writes below the directory of PROJECT and nowhere else; a symbolic link that leads elsewhere is not "
    "followed. Folders named `.git` are not written to either, since git runs programs that are named there.",
)

NOT_A_FILE = Code(
    "not-a-file",
    "something that is no file stands where a file must be written",
    "A directory or a device has the name of a file that the command writes.",
)

RENDERED_BROKEN = Code(
    "rendered-broken",
    "a template gave a file that does not parse",
    "Every rendered file is checked before anything is written: Python and YAML must parse, recipes of a Makefile"
    " must begin with tabs.",
)

BOILERPLATE_BROKEN = Code(
    "boilerplate-broken",
    "the licence header is no comment",
    "`hack/boilerplate.py.txt` is put above the code of every Python file that is made, as it is. Each of its lines "
    "must be a comment, or empty; an empty file means no header.",
)

TEMPLATE_BROKEN = Code(
    "template-broken",
    "the project template cannot be rendered",
    "A template for `--template` is a cookiecutter template: a folder with `cookiecutter.json` and one folder named "
    "`{{cookiecutter.project_name}}`. Hooks and extensions of templates are not run, and "
    "their expressions have no way to Python's inner attributes. docs/reference/project.md lists the variables that "
    "pykb gives.",
)

TEMPLATE_MISSING = Code(
    "template-missing",
    "the project template is not there",
    "`--template` takes a folder, or the address of a git repository as `git clone` takes it.",
)

DIRECTORY_NOT_EMPTY = Code(
    "directory-not-empty",
    "the directory already has files",
    "`pykb init` works in a directory with files in it, as long as none of them has the name of a file that it writes.",
    Severity.WARNING,
)

DIRECTORY_IN_PROJECT = Code(
    "directory-in-project",
    "the directory belongs to another project",
    "A directory above has a PROJECT. The new project is one of its own: commands in it do not see the one above, "
    "whose `pykb generate` leaves it out.",
    Severity.WARNING,
)

DIRECTORY_FILE_TAKEN = Code(
    "directory-taken",
    "the directory has files that `pykb init` would write",
    "`pykb init` starts a project and does not change files that are already there.",
)

RECOVERED = Code(
    "recovered",
    "an interrupted command was completed or undone",
    "The command before was killed while it wrote. Its changes lie in `.pykb/transaction`, so that the next "
    "command either writes all of them or none: all, unless a file was edited in the meantime.",
    Severity.NOTE,
)

TRANSACTION_PENDING = Code(
    "transaction-pending",
    "an interrupted command is neither completed nor undone",
    "The command before was killed while it wrote. Commands that only look (`--dry-run`, `--diff`, `--check`) leave "
    "its changes in `.pykb/transaction` as they are and say so. The next command that writes takes care of them.",
    Severity.NOTE,
)

TRANSACTION_UNUSABLE = Code(
    "transaction-unusable",
    "the changes of an interrupted command cannot be trusted",
    "A command that writes first completes or undoes what a killed one left in `.pykb/transaction`. It does so only "
    "where the same user left it in the same folder: not through links, not after a copy or a clone, and not when a "
    "file of it is damaged. Nothing is written until the folder is removed. Look at `git status` first: some files "
    "may be new and others old.",
)

WRITE_FAILED = Code(
    "write-failed",
    "a file of the project could not be written",
    "No space, no permission, a read-only file system. Everything that had been written before was undone.",
)

BUSY = Code(
    "busy",
    "another pykb command writes to this project",
    "Two commands that write at the same time would not see each other's changes. Wait for the other one to end.",
)

GENERATE_FAILED = Code(
    "generate-failed",
    "the files were written, but the manifests could not be generated",
    "The scaffolding itself is done. Repair what the generator says and run `pykb generate`.",
)

WHEEL_UNAVAILABLE = Code(
    "wheel-unavailable",
    "no wheel of this pykb could be put into the project",
    "A project pins the pykb that made it. Where that pykb comes from no package index, its wheel goes into "
    "`.pykb/wheels`, which the project's Makefile and Dockerfile use.",
    Severity.WARNING,
)

PLUGIN_UNKNOWN = Code(
    "plugin-unknown",
    "no plugin of this name",
    "A plugin key is `name.domain/version`; `name` or `name/version` is enough where only one plugin fits. "
    "Plugins of other packages register under the entry point group `pykb.plugins`.",
)

PLUGIN_BROKEN = Code(
    "plugin-broken",
    "a plugin cannot be loaded",
    "The package that registers the plugin is installed, but its module fails to import or is no plugin.",
)
