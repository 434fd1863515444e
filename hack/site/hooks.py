"""Hooks of the documentation site (`mkdocs.yml`): links to files outside docs/, search, scripts from npm, llms.txt."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page

LOG = logging.getLogger("mkdocs.hooks.pykb")
ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {
    "mermaid.js": "@mermaid-js/tiny/dist/mermaid.tiny.js",
    "iframe-worker.js": "iframe-worker/shim/index.js",
}
BOOSTS = {"tutorials/": 20, "how-to/": 20, "explanation/": 10, "reference/api/": 0.01, "": 1}
"""How much a word in a page counts in the search, by the start of its path: guides come before the Python API."""

_LINK = re.compile(r"\[((?:[^\[\]`]|`[^`]*`)*)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r" *(```|~~~)")
_DIRECTIVE = re.compile(r"^::: (\S+)\n(?:    .*\n)*", re.MULTILINE)
_NESTED = re.compile(r"( +)(```|~~~|[-*] |\d+\. )")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Without a repository, pages have no links to edit them. Only a site that mike publishes has versions."""
    if not config.repo_url:
        config.edit_uri = ""
    if "MIKE_DOCS_VERSION" not in os.environ:
        config.extra.pop("version")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the scripts that a reader's browser would get from another host."""
    for name, source in SCRIPTS.items():
        path = ROOT / "hack/site/node_modules" / source
        files.append(File.generated(config, f"assets/javascripts/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs'
    """Check how lists are indented. Let links to files outside docs/ lead to the repository. Rank the page."""
    weight = next(weight for start, weight in BOOSTS.items() if page.file.src_uri.startswith(start))
    page.meta.setdefault("search", {"boost": weight})
    for line in _badly_indented(markdown):
        LOG.warning("%s: indent what is inside a list by four columns: %s", page.file.src_uri, line)
    folder = (Path(config.docs_dir) / page.file.src_uri).parent

    def outside(link: re.Match[str]) -> str:
        text, target, anchor = link.groups()
        path = (folder / target).resolve()
        if path.is_relative_to(config.docs_dir):
            return link[0]
        if not path.is_relative_to(ROOT) or not path.exists():
            LOG.warning("%s links to %s, which does not exist", page.file.src_uri, target)
        elif config.repo_url:
            return f"[{text}]({config.repo_url.rstrip('/')}/blob/main/{path.relative_to(ROOT)}{anchor or ''})"
        return text

    return _LINK.sub(outside, markdown)


def _badly_indented(markdown: str) -> list[str]:
    """Lines that GitHub takes for a part of a list, and Python-Markdown does not."""
    found, fenced = [], False
    for line in markdown.splitlines():
        nested = None if fenced and not _FENCE.match(line) else _NESTED.match(line)
        if nested and len(nested[1]) % 4:
            found.append(line.strip())
        fenced ^= bool(_FENCE.match(line))
    return found


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs'
    """In a table, GitHub needs a backslash before a bar in code. Python-Markdown would show it.

    A diagram gets an element around it, which can be moved sideways on a narrow screen.
    """
    html = re.sub(r"(?s)<td.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html)
    return re.sub(r'(?s)<pre class="mermaid">.*?</pre>', lambda found: f'<div class="diagram">{found[0]}</div>', html)


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:  # noqa: ARG001 - mkdocs' signature
    """Keep the order of the pages for llms.txt."""
    config.extra["pages"] = nav.pages
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt and llms-full.txt (https://llmstxt.org), and each page as Markdown beside its HTML."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    whole = []
    section = ""
    handler = config.plugins["mkdocstrings"].get_handler("python")
    for page in config.extra["pages"]:
        title = page.ancestors[-1].title if page.ancestors else ""
        if title != section:
            lines += ["", f"## {title}", ""]
            section = title
        text = _DIRECTIVE.sub(lambda found: _documented(handler, found[1]), page.markdown)
        Path(config.site_dir, page.file.src_uri).write_text(text, encoding="utf-8")
        lines.append(f"- [{page.title}]({page.file.src_uri}){_summary(text)}")
        whole.append(text.strip() + "\n")
    _check(config)
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    Path(config.site_dir, "llms-full.txt").write_text("\n\n".join(whole), encoding="utf-8")


def _check(config: MkDocsConfig) -> None:
    """Warn if a change of the theme takes away what this site adds to it."""
    site = Path(config.site_dir)
    if "index.html" not in (site / "404.html").read_text(encoding="utf-8").partition("<h1>")[2]:
        LOG.warning("404.html does not lead home")
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    boosts = {entry["location"].partition("#")[0]: entry.get("boost", 1) for entry in index["docs"]}
    if not boosts["how-to/own-objects.html"] > boosts["reference/cli.html"] > boosts["reference/api/objects.html"]:
        LOG.warning("the search does not put guides before the reference, and this before the Python API")


def _documented(handler: Any, name: str) -> str:
    """What mkdocstrings shows of a Python name, as Markdown: each member by its first sentence."""
    found = handler.collect(name, handler.get_options({}))
    shown = f"```python\n{found.signature()}\n```\n\n" if found.is_function or found.is_class else ""
    text = found.docstring.value if found.docstring else ""
    members = () if found.is_module else found.all_members.values()
    listed = (each for each in members if each.docstring and not each.name.startswith("_"))
    lines = (f"- `{each.name}`: {' '.join(each.docstring.value.partition(chr(10) * 2)[0].split())}" for each in listed)
    return "\n".join([f"### `{name}`\n\n{shown}{text.strip()}\n", *lines]).rstrip() + "\n"


def _summary(markdown: str) -> str:
    """The first sentence below the title."""
    for paragraph in markdown.split("\n\n"):
        text = " ".join(paragraph.split())
        if text and not text.startswith(("#", "|", "```", "- ")):
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
            return ": " + re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(":")
    return ""
