# Copyright fanux
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What happens to Foo when processes die, requests fail, caches lag and others interfere."""

from pykb.testing import ProjectExplorer

from sample_controller.__main__ import register

SAMPLE = "config/samples/samplecontroller_v1alpha1_foo.yaml"


def test_holds_under_faults(explorer: ProjectExplorer) -> None:
    """The explorer finds nothing wrong in its first seconds. It needs no cluster. `make explore` tries everything."""
    explorer.run(register, sample=SAMPLE).check()
