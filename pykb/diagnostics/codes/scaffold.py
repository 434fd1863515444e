"""Errors that stop a scaffolding command before it writes anything."""

from __future__ import annotations

from pykb.diagnostics.model import Code, note, warning

ANCHOR_MISSING = Code(
    "anchor-missing",
    "a scaffold marker is missing",
    "pykb inserts lines above comments of the form `# +pykb:scaffold:<name>`. It cannot add to a file without this "
    "comment. Nothing is written, and the message shows the lines to paste. Paste them and run the command again. It "
    "does not insert lines that a file already has.",
)

FILE_EXISTS = Code(
    "file-exists",
    "a file already exists",
    "pykb never overwrites your files. `--force` writes the file again and keeps the old one in `.pykb/backup`. "
    "`--diff` shows what would change.",
)

FILE_CHANGED = Code(
    "file-changed",
    "a file changed while the command ran",
    "pykb renders everything before it writes. In between, another program changed a file, so the rendered files no "
    "longer fit. Run the command again.",
)

FILE_BROKEN = Code(
    "file-broken",
    "a file that pykb must add to cannot be parsed",
    "pykb inserts code based on the structure of a Python or YAML file, so the file must be valid. Fix it, then run "
    "the command again.",
)

FILE_MISSING = Code(
    "file-missing",
    "a file that pykb must add to does not exist",
    "The command adds lines to this file. Restore it, for example from git, or create an empty file with the anchor "
    "in it.",
)

PATH_OUTSIDE = Code(
    "path-outside",
    "a path is outside the project",
    "pykb writes only below the directory of PROJECT. It does not follow a symbolic link that leads elsewhere. It "
    "does not write to folders named `.git`, because git runs programs that are named there.",
)

NOT_A_FILE = Code(
    "not-a-file",
    "a path that must be a file is something else",
    "A directory or a device has the name of a file that the command writes.",
)

RENDERED_BROKEN = Code(
    "rendered-broken",
    "a template rendered a file that does not parse",
    "pykb checks every rendered file before it writes anything. Python and YAML must parse, and the recipes of a "
    "Makefile must begin with tabs.",
)

BOILERPLATE_BROKEN = Code(
    "boilerplate-broken",
    "the licence header is not a comment, or not there",
    "pykb writes `hack/boilerplate.py.txt` unchanged above the code of every new Python file. Each of its lines must "
    "be a comment or empty. An empty file means no header. If the file is elsewhere, `boilerplate` in `[tool.pykb]` of "
    "pyproject.toml names it.",
)

TEMPLATE_BROKEN = Code(
    "template-broken",
    "the project template cannot be rendered",
    "A template for `--template` is a cookiecutter template: a folder with `cookiecutter.json` and one folder named "
    "`{{cookiecutter.project_name}}`. pykb does not run hooks and extensions of templates. Expressions in templates "
    "cannot access Python's internal attributes. docs/reference/project.md lists the variables that pykb provides.",
)

TEMPLATE_MISSING = Code(
    "template-missing",
    "the project template does not exist",
    "`--template` takes a folder or the URL of a git repository that `git clone` accepts.",
)

DIRECTORY_NOT_EMPTY = warning(
    "directory-not-empty",
    "the directory already has files",
    "`pykb init` works in a directory that has files, if none of them has the name of a file that it writes.",
)

DIRECTORY_IN_PROJECT = warning(
    "directory-in-project",
    "the directory is inside another project",
    "A parent directory has a PROJECT. The new project is independent: commands in it do not use the outer project, "
    "and `pykb generate` in the outer project skips it.",
)

DIRECTORY_FILE_TAKEN = Code(
    "directory-taken",
    "the directory has files that `pykb init` would write",
    "`pykb init` starts a project and does not change existing files.",
)

RECOVERED = note(
    "recovered",
    "an interrupted command was completed or undone",
    "An earlier command was killed while it wrote. Its changes are in `.pykb/transaction`, so that the next command "
    "can write all of them or none. It writes the rest, and on a terminal asks first. If a file was edited or taken "
    "back in the meantime (`git restore`), or nothing was written yet, it undoes them.",
)

TRANSACTION_PENDING = note(
    "transaction-pending",
    "an interrupted command is neither completed nor undone",
    "An earlier command was killed while it wrote. Read-only commands (`--dry-run`, `--diff`, `--check`) report its "
    "changes in `.pykb/transaction` but do not touch them. The next command that writes completes or undoes them.",
)

TRANSACTION_UNUSABLE = Code(
    "transaction-unusable",
    "the changes of an interrupted command cannot be trusted",
    "A command that writes first completes or undoes the changes that a killed command left in `.pykb/transaction`. "
    "It does so only if the same user left them in the same folder, which a key of the user proves. It does not follow "
    "links, and it does not use changes from a copy or a clone, of a project that was moved, or with a damaged file. "
    "Nothing is written until the folder is removed. Look at `git status` first: some files may be new and others old.",
)

WRITE_FAILED = Code(
    "write-failed",
    "a file of the project could not be written",
    "For example, the disk is full, permissions are missing, or the file system is read-only. Everything that the "
    "command had already written was undone.",
)

BUSY = Code(
    "busy",
    "another pykb command writes to this project",
    "Two commands that write at the same time would not see each other's changes. Wait until the other command ends.",
)

GENERATE_FAILED = Code(
    "generate-failed",
    "the files were written, but the manifests could not be generated",
    "The scaffolded files are complete. Fix the errors of the generator and run `pykb generate`.",
)

WHEEL_UNAVAILABLE = warning(
    "wheel-unavailable",
    "pykb could not put its wheel into the project",
    "A project pins the version of pykb that created it. If that version is not from a package index, pykb puts its "
    "wheel into `.pykb/wheels`. The project's Makefile and Dockerfile use it from there.",
)
