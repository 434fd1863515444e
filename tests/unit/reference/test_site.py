"""What the published site has beside the pages of its versions."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_an_address_without_a_page_leads_to_the_start(tmp_path):
    """GitHub shows the page at the root of the branch. What mike has written there stays."""
    git = {
        "GIT_DIR": str(tmp_path / ".git"),
        "GIT_AUTHOR_NAME": "fanux",
        "GIT_AUTHOR_EMAIL": "fanux@example.com",
        "GIT_COMMITTER_NAME": "fanux",
        "GIT_COMMITTER_EMAIL": "fanux@example.com",
    }

    def run(*words, said=""):
        env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | git
        done = subprocess.run(words, cwd=ROOT, env=env, input=said, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("git", "init", "--quiet", "--bare", git["GIT_DIR"])
    start = run("git", "hash-object", "-w", "--stdin", said="the start page\n")
    version = run("git", "mktree", said=f"100644 blob {start}\tindex.html\n")
    tree = run("git", "mktree", said=f"040000 tree {version}\t0.1\n100644 blob {start}\tindex.html\n")
    run("git", "update-ref", "refs/heads/gh-pages", run("git", "commit-tree", "-m", "Deploy", tree))
    for _ in range(2):  # for each version
        run("make", "--silent", "docs-not-found")
        assert run("git", "ls-tree", "--name-only", "gh-pages").split() == ["0.1", "404.html", "index.html"]
    assert run("git", "show", "gh-pages:index.html") == "the start page"
    assert run("git", "show", "gh-pages:404.html") == (ROOT / "hack/site/404.html").read_text(encoding="utf-8").strip()
