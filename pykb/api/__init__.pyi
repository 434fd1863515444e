from pydantic import Field as Field

from pykb.api.annotations import (
    CEL as CEL,
)
from pykb.api.annotations import (
    JSON as JSON,
)
from pykb.api.annotations import (
    AtLeastOneOf as AtLeastOneOf,
)
from pykb.api.annotations import (
    AtMostOneOf as AtMostOneOf,
)
from pykb.api.annotations import (
    Conversion as Conversion,
)
from pykb.api.annotations import (
    Duration as Duration,
)
from pykb.api.annotations import (
    EmbeddedResource as EmbeddedResource,
)
from pykb.api.annotations import (
    ExactlyOneOf as ExactlyOneOf,
)
from pykb.api.annotations import (
    ExternalDocs as ExternalDocs,
)
from pykb.api.annotations import (
    Format as Format,
)
from pykb.api.annotations import (
    Immutable as Immutable,
)
from pykb.api.annotations import (
    Int32 as Int32,
)
from pykb.api.annotations import (
    Int64 as Int64,
)
from pykb.api.annotations import (
    IntOrString as IntOrString,
)
from pykb.api.annotations import (
    ListAtomic as ListAtomic,
)
from pykb.api.annotations import (
    ListMap as ListMap,
)
from pykb.api.annotations import (
    ListSet as ListSet,
)
from pykb.api.annotations import (
    MapAtomic as MapAtomic,
)
from pykb.api.annotations import (
    MapGranular as MapGranular,
)
from pykb.api.annotations import (
    Nullable as Nullable,
)
from pykb.api.annotations import (
    PreserveUnknown as PreserveUnknown,
)
from pykb.api.annotations import (
    RawExtension as RawExtension,
)
from pykb.api.annotations import (
    RawSchema as RawSchema,
)
from pykb.api.annotations import (
    Schemaless as Schemaless,
)
from pykb.api.annotations import (
    SchemaPatch as SchemaPatch,
)
from pykb.api.annotations import (
    ServerDefault as ServerDefault,
)
from pykb.api.annotations import (
    Time as Time,
)
from pykb.api.annotations import (
    Type as Type,
)
from pykb.api.annotations import (
    Wire as Wire,
)
from pykb.api.annotations import (
    XIntOrString as XIntOrString,
)
from pykb.api.annotations import (
    annotate as annotate,
)
from pykb.api.conversion import Converter as Converter
from pykb.api.conversion import Unconvertible as Unconvertible
from pykb.api.conversion import carry_over as carry_over
from pykb.api.object import CustomResource as CustomResource
from pykb.api.object import Object as Object
from pykb.api.object import Unstructured as Unstructured
from pykb.api.object import object_key as object_key
from pykb.api.quantity import Quantity as Quantity
from pykb.api.struct import Struct as Struct
from pykb.api.time import MicroTime as MicroTime
from pykb.api.unreadable import ObjectList as ObjectList
from pykb.meta.gvk import (
    GroupVersion as GroupVersion,
)
from pykb.meta.gvk import (
    GroupVersionKind as GroupVersionKind,
)
from pykb.meta.gvk import (
    NamespacedName as NamespacedName,
)
from pykb.meta.gvk import ResourceInfo as ResourceInfo

__all__: list[str]
