"""The table of semantics: every promise has tests that exist, and the page says what the table says."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hack import semantics

ROOT = Path(__file__).resolve().parents[2]


TABLE = semantics.read_table()
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def defined(file: str) -> set[str]:
    """The node ids of the tests in a file, without parameters."""
    ids = set()
    for each in ast.parse((ROOT / file).read_text(encoding="utf-8")).body:
        if isinstance(each, ast.ClassDef):
            ids |= {f"{file}::{each.name}::{test.name}" for test in each.body if isinstance(test, FUNCTIONS)}
        elif isinstance(each, FUNCTIONS):
            ids.add(f"{file}::{each.name}")
        elif isinstance(each, ast.Assign) and ast.unparse(each.value).endswith(".TestCase"):  # a machine of Hypothesis
            ids.add(f"{file}::{ast.unparse(each.targets[0])}::runTest")
    return ids


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """Every test of the files that the table names."""
    files = {test.partition("::")[0] for row in TABLE.rows for test in row.tests}
    return {test for file in files if (ROOT / file).is_file() for test in defined(file)}


@pytest.mark.parametrize("row", TABLE.rows, ids=lambda row: row.promise[:60])
def test_every_promise_has_tests_that_exist(row, collected):
    """By their node ids."""
    assert row.tests, "a promise that nothing shows"
    assert set(row.tests) <= collected, sorted(set(row.tests) - collected)


def test_promises_are_made_once():
    """And each row names each of its tests once."""
    doubled = [promise for promise, times in Counter(row.promise for row in TABLE.rows).items() if times > 1]
    assert not doubled
    assert all(len(set(row.tests)) == len(row.tests) for row in TABLE.rows)


def test_both_api_servers_are_held_to_the_same_cases():
    """The in-memory server and the real one run every case of the conformance suite; there are plenty."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests/apiserver/conformance"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    servers: dict[str, list[str]] = {"fake": [], "real": []}
    for node in [line for line in done.stdout.splitlines() if "::" in line]:
        name, _, parameters = node.removesuffix("]").partition("[")
        words = parameters.split("-")
        (server,) = {"fake", "real"} & set(words)
        words.remove(server)
        servers[server].append(f"{name}[{'-'.join(words)}]")
    assert sorted(servers["fake"]) == sorted(servers["real"])
    assert len(servers["real"]) >= 180
