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

"""The manager: one process that runs every controller of memcached-operator."""

from pykb.runtime import Manager, ManagerOptions

from memcached_operator.controllers.memcached_controller import MemcachedReconciler

# +pykb:scaffold:imports

LEADER_ELECTION_ID = "memcached-operator.example.com"


def register(manager: Manager) -> None:
    """Register every controller with the manager."""
    MemcachedReconciler(manager.client).setup(manager)
    # +pykb:scaffold:builder


def main() -> None:
    """Run the manager until a signal stops it. `--help` lists the flags."""
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))
    register(manager)
    manager.run()


if __name__ == "__main__":
    main()
