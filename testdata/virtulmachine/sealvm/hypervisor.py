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


@dataclass(frozen=True)
class Machine:
    """A machine that runs."""

    name: str
    cpus: int


@dataclass
class Hypervisor:
    """Runs machines by their ids; starting one that runs and stopping one that does not change nothing."""

    cpus: int
    machines: dict[str, Machine] = field(default_factory=dict)

    def start(self, uid: str, machine: Machine) -> None:
        """Run a machine.

        Raises:
            NoRoomError: It needs more CPUs than are free.
        """
        free = self.cpus - sum(other.cpus for found, other in self.machines.items() if found != uid)
        if machine.cpus > free:
            raise NoRoomError(f"{machine.name} needs {machine.cpus} CPUs, {free} are free")
        self.machines[uid] = machine

    def stop(self, uid: str) -> None:
        """Stop a machine."""
        self.machines.pop(uid, None)

    def named(self, name: str) -> list[str]:
        """The ids of the machines with a name: of an object, and of those that had its name before."""
        return [uid for uid, machine in self.machines.items() if machine.name == name]
