from pykb.client.clock import VirtualClock as VirtualClock
from pykb.explore import ClusterView as ClusterView
from pykb.explore import always as always
from pykb.explore import within as within
from pykb.testing._explorers import ProjectExplorer as ProjectExplorer
from pykb.testing._managers import RunManager as RunManager
from pykb.testing._managers import eventually as eventually
from pykb.testing._managers import running as running
from pykb.testing.handlers import HandlerOutcome as HandlerOutcome
from pykb.testing.handlers import RecordedEvent as RecordedEvent
from pykb.testing.handlers import RecordedEvents as RecordedEvents
from pykb.testing.handlers import call_handler as call_handler
from pykb.testing.objects import UnsatisfiableFieldError as UnsatisfiableFieldError
from pykb.testing.objects import objects_of as objects_of
from pykb.testing.round_trips import assert_round_trips as assert_round_trips

__all__: list[str]
