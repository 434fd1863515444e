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

"""Where the machines run: in memory, with so many CPUs to share out."""

from dataclasses import dataclass, field


class NoRoomError(Exception):
    """The machines that run leave too few CPUs for another."""


@dataclass
class Hypervisor:
    """Runs machines by name; starting one that runs and stopping one that does not change nothing."""

    cpus: int
    machines: dict[str, int] = field(default_factory=dict)

    def start(self, name: str, cpus: int) -> None:
        """Run a machine.

        Raises:
            NoRoomError: It needs more CPUs than are free.
        """
        free = self.cpus - sum(used for other, used in self.machines.items() if other != name)
        if cpus > free:
            raise NoRoomError(f"{name} needs {cpus} CPUs, {free} are free")
        self.machines[name] = cpus

    def stop(self, name: str) -> None:
        """Stop a machine."""
        self.machines.pop(name, None)
