"""Serves the page on the loopback interface, to whoever has opened the printed address.

Each request is checked: ``Host`` and ``Origin`` must be our own, so that no page of another site can reach it by a name
that it points here, and a cookie must show that the browser has opened the address with the token. The token is in the
terminal of the user only.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import secrets
import shlex
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import orjson
import yaml

from pykb._regular_file import read_text
from pykb.client.ending import end_tasks
from pykb.client.patches import merge_diff
from pykb.dev.page._completion import Schemas, fitting, line_of
from pykb.dev.page.history import History
from pykb.dev.page.objects import MANAGER, PAUSE, Cluster, follow_objects, identity_of
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.components import LOOPBACK
from pykb.reading import yaml_text
from pykb.runtime.records.causes import HIDDEN
from pykb.serving import BindAddress, Handler, HttpError, HttpRequest, HttpResponse, HttpServer, Limits, Routes

_LARGEST_BODY = 2 * 1024 * 1024
_MOST_PAGES = 16
_ALIVE_SECONDS = 15.0
_MOST_SAMPLES = 200
_BATCH = 64 * 1024
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_DRAWN_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""For a page of ``pykb explore --html``, which has its styles in itself. It may be somebody else's, of a recording: it
runs no scripts, gets nothing from any network, and has an origin of its own."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """What somebody can do on the page of ``pykb dev``.

    Attributes:
        samples: The folder of the samples, within ``root``.
        root: The folder of the project.
        restart: Restarts the manager.
        schemas: Gives the schemas of the project's kinds.
        is_read_only: Whether objects are only read, since the cluster is not this loop's own.
    """

    samples: Path
    root: Path
    restart: Callable[[], Awaitable[None]]
    schemas: Callable[[], Schemas] = dict
    is_read_only: bool = False


@dataclass(eq=False)
class Page:
    """The page of one ``pykb dev`` or ``pykb inspect``.

    Attributes:
        history: What it shows.
        cluster: The cluster behind it. ``None`` for a recording.
        kinds: Gives the API versions and kinds of the project.
        workbench: What somebody can do on it. ``None`` if it only shows.
        pause: How long to wait between two lists of the objects, at least.
        port: The port. 0 is a free one.
    """

    history: History
    cluster: Cluster | None = None
    kinds: Callable[[], Iterable[tuple[str, str]]] = tuple
    workbench: Workbench | None = None
    pause: timedelta = PAUSE
    port: int = 0

    def __post_init__(self) -> None:
        """Prepare the server. It does not listen yet."""
        self._token = secrets.token_urlsafe(24)
        self._session = secrets.token_urlsafe(24)
        routes = Routes([self._guard])
        routes.add("/", self._open)
        routes.add("/static/*", self._static)
        routes.add("/events", self._events)
        routes.add("/findings", self._findings)
        if self.cluster is not None:
            routes.add("/api/object", partial(self._object, self.cluster))
        if self.cluster is not None and self.workbench is not None:
            routes.add("/api/samples", partial(self._samples, self.workbench))
            routes.add("/api/apply", partial(self._apply, self.cluster), method="POST")
            routes.add("/api/delete", partial(self._delete, self.cluster), method="POST")
            routes.add("/api/complete", partial(self._complete, self.workbench), method="POST")
            routes.add("/api/restart", partial(self._restart, self.workbench), method="POST")
        self._server = HttpServer(
            "page",
            BindAddress(LOOPBACK, self.port),
            routes,
            remedy="choose another port: `--port 0` takes a free one",
            drain=timedelta(0),
            limits=Limits(connections=64, incomplete=16, idle=32),
            body_limit=_LARGEST_BODY,
        )

    def check(self) -> None:
        """Check that it could be served now, before anything is started for it.

        Raises:
            EnvironmentProblem: The port is in use.
        """
        self._server.check()

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Serve it. Gives the address for the browser of this user.

        Raises:
            EnvironmentProblem: The port is in use.
        """
        serving = asyncio.create_task(self._server.run())
        listening = asyncio.create_task(self._server.listening())
        following = asyncio.create_task(self._follow_objects())
        try:
            await asyncio.wait({serving, listening}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            yield f"http://{LOOPBACK}:{self._server.port}/?token={self._token}"
        finally:
            await end_tasks(serving, listening, following)

    async def _follow_objects(self) -> None:
        if self.cluster is not None:
            await follow_objects(self.history, self.cluster, self.kinds, self.pause)

    # -- who may ask

    async def _guard(self, request: HttpRequest, handler: Handler) -> HttpResponse:
        try:
            response = await self._checked(request, handler)
        except HttpError as error:
            response = error.response
        response.headers = {**_HEADERS, **response.headers}
        return response

    async def _checked(self, request: HttpRequest, handler: Handler) -> HttpResponse:
        names = {f"{name}:{self._server.port}" for name in (LOOPBACK, "localhost")}
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if host not in names:
            raise HttpError(421, "this is the page of pykb, under another name\n")
        if origin is not None and origin != f"http://{host}":
            raise HttpError(403, "another site may not ask this page\n")
        if request.path == "/" and (given := request.first("token")):
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                raise HttpError(401, _CLOSED)
            cookie = f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; Path=/"
            return HttpResponse(status=303, headers={"Location": "/", "Set-Cookie": cookie})
        if not hmac.compare_digest(self._given(request).encode(), self._session.encode()):
            raise HttpError(401, _CLOSED)
        if request.method == "POST":
            if origin is None:
                raise HttpError(403, "only the page itself may change something\n")
            if request.media_type != "application/json":
                raise HttpError(415, "send JSON\n")
            if self.workbench is not None and self.workbench.is_read_only and request.path not in _HARMLESS:
                raise HttpError(403, "this cluster is not the loop's own: use kubectl\n")
        return await handler(request)

    @property
    def _cookie(self) -> str:
        """Cookies hold for all ports of a host, so each page has one of its own name."""
        return f"pykb-dev-{self._server.port}"

    def _given(self, request: HttpRequest) -> str:
        pairs = (each.strip().partition("=") for each in request.headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name == self._cookie), "")

    # -- what it answers

    async def _open(self, _: HttpRequest) -> HttpResponse:
        return _file("index.html")

    async def _static(self, request: HttpRequest) -> HttpResponse:
        return _file(request.path.rpartition("/")[2])

    async def _findings(self, _: HttpRequest) -> HttpResponse:
        if not (html := self.history.drawn()):
            raise HttpError(404, "the explorer has drawn nothing since its last start\n")
        headers = {"Content-Security-Policy": _DRAWN_POLICY}
        return HttpResponse(html.encode(), content_type=_TYPES[".html"], headers=headers)

    async def _events(self, request: HttpRequest) -> HttpResponse:
        if self.history.readers >= _MOST_PAGES:
            raise HttpError(503, "too many pages are open\n")
        last = request.headers.get("last-event-id", "")
        after = int(last) if last.isascii() and last.isdigit() and len(last) < 16 else None
        return HttpResponse(content_type="text/event-stream", parts=self._stream(after))

    async def _stream(self, after: int | None) -> AsyncGenerator[bytes, None]:
        entries = self.history.follow(after)
        waiting: asyncio.Future[Any] | None = None
        try:
            yield b": welcome\n\n"
            while True:
                waiting = waiting or asyncio.ensure_future(anext(entries))
                done, _ = await asyncio.wait([waiting], timeout=_ALIVE_SECONDS)
                if not done:
                    yield b": alive\n\n"
                    continue
                batch: list[bytes] = []
                size = 0
                for entry in waiting.result():
                    batch.append(entry.encoded())
                    size += len(batch[-1])
                    if size > _BATCH:
                        yield b"".join(batch)
                        batch, size = [], 0
                waiting = None
                if batch:
                    yield b"".join(batch)
        finally:
            if waiting is not None:
                await end_tasks(waiting)
            await entries.aclose()

    async def _object(self, cluster: Cluster, request: HttpRequest) -> HttpResponse:
        identity = {key: request.first(key) for key in ("apiVersion", "kind", "namespace", "name")}
        found = await self._asked(cluster.get, identity)
        if found is None:
            return HttpResponse.json({"message": "this object is not there"}, 404)
        return HttpResponse.json({"yaml": yaml.safe_dump(found, sort_keys=False, allow_unicode=True)})

    async def _samples(self, workbench: Workbench, _: HttpRequest) -> HttpResponse:
        return HttpResponse.json({"samples": await asyncio.to_thread(self._read_samples, workbench)})

    def _read_samples(self, workbench: Workbench) -> list[dict[str, str]]:
        found = []
        for path in sorted(workbench.samples.glob("*.yaml"))[:_MOST_SAMPLES]:
            try:
                text = read_text(path, most=yaml_text.LONGEST)
                documents = [each for each in yaml_text.load_all(text.encode()) if isinstance(each, dict)]
            except (OSError, ValueError, yaml.YAMLError):
                continue
            if len(documents) == 1 and documents[0].get("kind") and path.name != "kustomization.yaml":
                metadata = documents[0].get("metadata")
                name = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
                kind, place = str(documents[0].get("kind", "")), path.relative_to(workbench.root).as_posix()
                found.append({"path": place, "kind": kind, "name": name, "yaml": text})
        return found

    async def _apply(self, cluster: Cluster, request: HttpRequest) -> HttpResponse:
        asked = _json_of(request)
        is_dry_run = asked.get("dryRun") is True
        dry_run = " --dry-run=server" if is_dry_run else ""
        command = f"kubectl apply --server-side --force-conflicts --field-manager={MANAGER} -f -{dry_run}"
        text = str(asked.get("yaml", ""))
        try:
            manifest = _value_of(text)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark is not None else 0
            return _refused(command, [{"field": "", "message": f"this is not YAML: {error.problem}", "line": line}])
        except (ValueError, TypeError, yaml.YAMLError):
            return _refused(command, [{"field": "", "message": "write one object"}])
        if not isinstance(manifest, dict):
            return _refused(command, [{"field": "", "message": "this is not an object"}])
        if base := str(asked.get("base", "")):
            identity, patch = identity_of(manifest), _edited(base, manifest)
            if orjson.dumps(HIDDEN) in orjson.dumps(patch):
                return _refused("", [{"field": "", "message": "a hidden value would be lost: use `kubectl edit`"}])
            options = (f"--field-manager={MANAGER}", "--type=merge", f"--patch={orjson.dumps(patch).decode()}")
            command = f"{_kubectl('patch', identity, *options)}{dry_run}"
            refused = await self._asked(lambda it: cluster.edit(identity, it, is_dry_run=is_dry_run), patch)
        else:
            refused = await self._asked(lambda it: cluster.apply(it, is_dry_run=is_dry_run), manifest)
        errors = [{**each, "line": line_of(text, each["field"])} for each in refused]
        return _refused(command, errors) if errors else HttpResponse.json({"ok": True, "command": command})

    async def _complete(self, workbench: Workbench, request: HttpRequest) -> HttpResponse:
        asked = _json_of(request)
        before, after = str(asked.get("before", "")), str(asked.get("after", ""))
        return HttpResponse.json(await asyncio.to_thread(lambda: fitting(before, after, workbench.schemas())))

    async def _delete(self, cluster: Cluster, request: HttpRequest) -> HttpResponse:
        asked = _json_of(request)
        identity = {key: str(asked.get(key, "")) for key in ("apiVersion", "kind", "namespace", "name")}
        message = await self._asked(cluster.delete, identity)
        if message:
            return HttpResponse.json({"ok": False, "errors": [{"field": "", "message": message}]}, 422)
        return HttpResponse.json({"ok": True, "command": _kubectl("delete", identity, "--wait=false")})

    async def _restart(self, workbench: Workbench, _: HttpRequest) -> HttpResponse:
        await workbench.restart()
        return HttpResponse.json({"ok": True})

    async def _asked(self, ask: Callable[[Any], Any], given: Any) -> Any:
        try:
            return await asyncio.to_thread(ask, given)
        except EnvironmentProblem as problem:
            raise HttpError(502, f"{problem.diagnostic.message}\n") from problem


_HARMLESS = {"/api/restart", "/api/complete"}
"""What may be asked of any cluster."""

_CLOSED = "open the address that pykb has printed: it has the token\n"


def _file(name: str) -> HttpResponse:
    """A file of the page. Only names of this package are known, so nothing else can be asked for."""
    folder = resources.files("pykb.dev.page") / "static"
    known = {each.name: each for each in folder.iterdir() if each.is_file()}
    ending = name[name.rfind(".") :] if "." in name else ""
    if name not in known or ending not in _TYPES:
        raise HttpError(404, "there is no such file\n")
    return HttpResponse(known[name].read_bytes(), content_type=_TYPES[ending])


def _json_of(request: HttpRequest) -> Mapping[str, Any]:
    try:
        asked = orjson.loads(request.body)
    except ValueError:
        asked = None
    if not isinstance(asked, dict):
        raise HttpError(400, "send one JSON object\n")
    return asked


def _value_of(text: str) -> Any:
    """The one value of a YAML text, as JSON has it: a date is a text there.

    Raises:
        ValueError: There is none, or there are several.
        TypeError: JSON does not have it.
        YAMLError: It is not YAML.
    """
    [value] = [each for each in yaml_text.load_all(text.encode()) if each is not None]
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))


def _edited(base: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody has changed in an object that they got as ``base``, as a merge patch."""
    try:
        before = _value_of(base)
    except (ValueError, TypeError, yaml.YAMLError):
        before = None
    if not isinstance(before, dict) or identity_of(before) != identity_of(manifest):
        raise HttpError(422, "this is another object than the one that you edit\n")
    return merge_diff(before, manifest)


def _kubectl(verb: str, identity: Mapping[str, str], *options: str) -> str:
    """A command of kubectl about one object."""
    group, slash, _ = identity["apiVersion"].partition("/")
    kind = identity["kind"].lower() + (f".{group}" if slash else "")
    within = ("--namespace", identity["namespace"]) if identity["namespace"] else ()
    return shlex.join(("kubectl", verb, kind, identity["name"], *within, *options))


def _refused(command: str, errors: Sequence[Mapping[str, object]]) -> HttpResponse:
    return HttpResponse.json({"ok": False, "command": command, "errors": errors}, 422)
