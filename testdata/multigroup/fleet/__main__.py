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

"""The manager: one process that runs every controller of fleet."""

from pykb.runtime import Manager, ManagerOptions

from fleet.controllers.apps.deployment_controller import DeploymentReconciler
from fleet.controllers.certs.issuer_controller import IssuerReconciler
from fleet.controllers.crew.captain_backup_controller import CaptainBackupReconciler
from fleet.controllers.crew.captain_controller import CaptainReconciler
from fleet.controllers.sea_creatures import kraken_handlers as kraken_handlers
from fleet.controllers.ship.frigate_controller import FrigateReconciler
from fleet.controllers.ship.harbour_controller import HarbourReconciler
from fleet.webhooks.crew.v1.captain_webhook import setup_captain_webhook
from fleet.webhooks.ship.v1.frigate_webhook import setup_frigate_webhook

# +pykb:scaffold:imports

LEADER_ELECTION_ID = "fleet.example.com"


def register(manager: Manager) -> None:
    """Register every controller with the manager."""
    CaptainReconciler(manager.client).setup(manager)
    CaptainBackupReconciler(manager.client).setup(manager)
    FrigateReconciler(manager.client).setup(manager)
    HarbourReconciler(manager.client).setup(manager)
    DeploymentReconciler(manager.client).setup(manager)
    IssuerReconciler(manager.client).setup(manager)
    setup_frigate_webhook(manager)
    setup_captain_webhook(manager)
    # +pykb:scaffold:builder


def main() -> None:
    """Run the manager until a signal stops it. `--help` lists the flags."""
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))
    register(manager)
    manager.run()


if __name__ == "__main__":
    main()
