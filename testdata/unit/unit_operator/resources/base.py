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

"""What the owned objects of a Unit have in common."""

from abc import ABC, abstractmethod
from typing import ClassVar

from pykb.api import Object
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, ensure_applied, ensure_deleted, is_controlled_by

from unit_operator.api.v1 import Unit
from unit_operator.api.v1.unit_types import UnitStatus


class OwnedResource(ABC):
    """One object of a Unit, of the Unit's name: made, found, brought about, and mirrored in the Unit's status."""

    kind: ClassVar[type[Object]]

    def __init__(self, unit: Unit) -> None:
        """Belong to a Unit."""
        self.unit = unit

    @abstractmethod
    def make(self) -> Object | None:
        """The object that the Unit asks for, and no field more; `None` when it asks for none."""

    @abstractmethod
    def update_status(self, status: UnitStatus, found: Object | None) -> None:
        """Mirror the object that is there in its part of the Unit's status."""

    async def exists(self, client: Client) -> Object | None:
        """The object that is there, when it is the Unit's own."""
        found = await client.find(self.kind, self.unit)
        return found if found is not None and is_controlled_by(found, self.unit) else None

    async def apply(self, client: Client) -> Object | None:
        """Bring the object about, or remove it; what is there afterwards.

        Raises:
            NotControlled: Somebody else has an object of the name.
            ApiError: The API server refused.
        """
        wanted = self.make()
        if wanted is None:
            await ensure_deleted(client, self.kind, self.unit, owner=self.unit)
            return None
        await ensure_applied(client, wanted, owner=self.unit)
        return wanted

    def metadata(self) -> ObjectMeta:
        """The name of the object, and the Unit's labels."""
        labels = {**(self.unit.metadata.labels or {}), "app.kubernetes.io/managed-by": "unit-operator"}
        return ObjectMeta(name=self.unit.metadata.name, namespace=self.unit.metadata.namespace, labels=labels)
