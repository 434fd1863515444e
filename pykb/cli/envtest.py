"""``pykb envtest``: the programs of a local control plane."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pykb.cli import console


class Print(StrEnum):
    """The values of ``--print``, as setup-envtest has them."""

    PATH = "path"
    ENV = "env"


_SELECTORS = "1.37.2, or a selector: 1.37, 1.37.x, ~1.37.0, <1.37, latest."
Version = Annotated[str, typer.Argument(metavar="[VERSION]", help=f"Kubernetes version: {_SELECTORS}")]
Selected = Annotated[str, typer.Argument(metavar="VERSION", help=f"Kubernetes version: {_SELECTORS}")]
Exact = Annotated[str, typer.Argument(metavar="VERSION", help="Kubernetes version, such as 1.37.2.")]
InstalledOnly = Annotated[bool, typer.Option("--installed-only", "-i", help="Use only what is in the cache.")]
Remote = Annotated[
    bool, typer.Option("--remote/--installed-only", " /-i", help="Also list what can be downloaded or built.")
]
ControllerManager = Annotated[
    bool,
    typer.Option("--controller-manager/--no-controller-manager", help="Also get kube-controller-manager."),
]
PrintOption = Annotated[Print, typer.Option("--print", "-p", help="Print only the folder, or a line for the shell.")]


def use(
    version: Version = "",
    controller_manager: ControllerManager = True,
    installed_only: InstalledOnly = False,
    output: PrintOption = Print.PATH,
) -> None:
    """Download etcd, kube-apiserver, kubectl and kube-controller-manager once, and print their folder.

    They come from the official envtest archive, whose checksum is verified, or are built from their Go modules. If
    KUBEBUILDER_ASSETS is set, nothing is downloaded and its folder is printed. A selector means the newest version in
    the cache. With `!` after it, and for `latest`, it means the newest one that there is.

    Examples:
      pykb envtest use
      pykb envtest use 1.35 --print env
      pykb envtest use '1.35.x!'
      eval "$(pykb envtest use --print env)"
    """
    from pykb.cli.console import ProgressReporter
    from pykb.envtest.assets import available, get_assets, named_by_environment
    from pykb.envtest.cache import KUBERNETES, LATEST, matches, newest, parse_version

    if installed_only:
        path(version.removesuffix("!"), output)
        return
    wanted = parse_version(version.removesuffix("!") or KUBERNETES)
    if (version.endswith("!") or wanted == LATEST) and named_by_environment() is None:
        wanted = next(iter(newest(each for each in available() if matches(wanted, each))), wanted)
    with ProgressReporter() as reporter:
        assets = get_assets(wanted, kubectl=True, controller_manager=controller_manager, reporter=reporter)
    _print(str(assets.folder), output)


def path(version: Version = "", output: PrintOption = Print.PATH) -> None:
    """Print the folder of a version in the cache. Downloads nothing.

    Examples:
      pykb envtest path
      KUBEBUILDER_ASSETS="$(pykb envtest path 1.37)" make test
    """
    from pykb.diagnostics.codes.environment import ASSETS_MISSING
    from pykb.envtest.assets import find_assets
    from pykb.envtest.cache import KUBERNETES, parse_version

    wanted = parse_version(version or KUBERNETES)
    assets = find_assets(wanted)
    if assets is None:
        message = f"Kubernetes {wanted} is not in the cache"
        raise ASSETS_MISSING.problem(message, f"pykb envtest use {shlex.quote(wanted)}")
    _print(str(assets.folder), output)


def list_(version: Version = "", remote: Remote = False) -> None:
    """List the versions in the cache, newest first, with the programs that each has.

    Examples:
      pykb envtest list
      pykb envtest list 1.37 --remote
      pykb envtest list --format json
    """
    from pykb.envtest.assets import VARIABLE, available, named_by_environment
    from pykb.envtest.cache import KUBERNETES, LATEST, Cache, matches, parse_version, sort_key

    wanted = parse_version(version or LATEST)
    if named := named_by_environment():
        console.say(f"note: {VARIABLE} is set, so pykb uses {named.folder}")
    cache = Cache.of_user()
    known = {*cache.versions(), *(available() if remote else ())}
    versions = {
        each: _programs(cache.place(each))
        for each in sorted(known, key=sort_key, reverse=True)
        if matches(wanted, each)
    }
    rows = [{"version": v, "programs": names, "default": v == KUBERNETES} for v, names in versions.items()]
    if console.data(rows):
        return
    for each, programs in versions.items():
        default = "  (default)" if each == KUBERNETES else ""
        console.out(f"{each}  {', '.join(programs) or '(not in the cache)'}{default}")
    if not versions:
        missing = f"Kubernetes {wanted}" if version else "no version"
        console.say(f"{missing} is {'not ' if version else ''}in the cache; `pykb envtest use` gets {KUBERNETES}")


def cleanup(version: Selected) -> None:
    """Delete versions from the cache. A control plane that runs keeps running.

    Examples:
      pykb envtest cleanup 1.35.4
      pykb envtest cleanup '<1.37'
    """
    from pykb.cli.console import ProgressReporter
    from pykb.envtest.cache import Cache, matches, parse_version

    wanted = parse_version(version)
    cache = Cache.of_user()
    gone = [each for each in cache.versions() if matches(wanted, each)]
    with ProgressReporter() as reporter:
        for each in gone:
            cache.remove(each, reporter)
            console.say(f"deleted {cache.place(each)}")
    if not gone:
        console.say(f"Kubernetes {wanted} is not in the cache")


def sideload(version: Exact) -> None:
    """Put an archive from stdin into the cache, for a machine without a network, and print its folder.

    It is an official envtest archive, or an archive of the folder that `pykb envtest path` prints on another machine.
    That one also has kube-controller-manager.

    Examples:
      pykb envtest sideload 1.37.2 < envtest-v1.37.2-linux-amd64.tar.gz
      tar czf - -C "$(pykb envtest path)" . | ssh HOST pykb envtest sideload 1.37.2
    """
    from pykb.cli.console import ProgressReporter
    from pykb.cli.errors import refuse
    from pykb.envtest.assets import sideload as keep
    from pykb.envtest.cache import is_exact, parse_version

    wanted = parse_version(version)
    if not is_exact(wanted):
        refuse(f"`{version}` selects versions, expected one such as 1.37.2")
    if sys.stdin is None or sys.stdin.isatty():
        refuse("expected an archive on stdin: `< envtest.tar.gz`")
    with ProgressReporter() as reporter:
        assets = keep(wanted, sys.stdin.buffer, reporter)
    console.out(str(assets.folder))


def _programs(folder: Path) -> list[str]:
    from pykb.envtest.assets import PROGRAMS, is_program

    return [name for name in PROGRAMS if is_program(folder / name)]


def _print(folder: str, output: Print) -> None:
    console.out(folder if output is Print.PATH else f"export KUBEBUILDER_ASSETS={shlex.quote(folder)}")
