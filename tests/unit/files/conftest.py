"""What the tests of transactions share."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # files_trees and files_killing, next to the tests
