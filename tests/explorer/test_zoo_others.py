"""The other half of the zoo: a process runs a module, and the zoo is the longest one."""

from __future__ import annotations

import pytest

from tests.explorer.test_zoo import FAULTY, check_fault


@pytest.mark.parametrize("operator", FAULTY[1::2], ids=lambda each: each.__name__)
def test_a_fault_is_found_once_with_its_line(operator):
    """As in the first half."""
    check_fault(operator)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("operator", FAULTY, ids=lambda each: each.__name__)
def test_all_histories_find_a_fault_once_with_its_line(operator):
    """What further histories find is the same finding."""
    check_fault(operator, most=None)
