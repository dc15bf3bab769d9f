"""Sends an agent's requests with the app's own HTTP client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

from ._ffi import stepwell_ffi as _ffi

TIMEOUT = (30.0, None, None, None)
"""Seconds to connect; the answer has no limit here: the turn has its own clocks, see ``Timeouts``."""


class HttpHeaders(Protocol):
    """The headers of an answer, as ``httpx.Headers``."""

    def multi_items(self) -> list[tuple[str, str]]:
        """Returns all headers, in order."""
        ...


class HttpResponse(Protocol):
    """An answer whose body is still to come, as ``httpx.Response``."""

    @property
    def status_code(self) -> int:
        """The status."""
        ...

    @property
    def headers(self) -> HttpHeaders:
        """The headers."""
        ...

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yields the body, unpacked, in chunks."""
        ...


@runtime_checkable
class HttpClient(Protocol):
    """Sends an agent's requests: an ``httpx.AsyncClient``, or any object with its ``stream``."""

    def stream(
        self,
        method: str,
        url: str,
        *,
        headers: list[tuple[str, str]],
        content: bytes,
        timeout: tuple[float | None, float | None, float | None, float | None],
        follow_redirects: bool,
    ) -> AbstractAsyncContextManager[HttpResponse]:
        """Sends a request; the answer is there as soon as its headers are."""
        ...


async def send(client: HttpClient, request: Any, answer: Any) -> None:
    """Sends a request, and passes its answer on, as long as it is wanted."""
    headers = [(header.name, header.value) for header in request.headers]
    # The request holds the key, which must not reach another server.
    streamed = client.stream(
        request.method, request.url, headers=headers, content=request.body, timeout=TIMEOUT, follow_redirects=False
    )
    async with streamed as response:
        received = response.headers.multi_items()
        answer.opened(response.status_code, [_ffi.HttpHeader(name=name, value=value) for name, value in received])
        async for piece in response.aiter_bytes():
            if not await answer.received(piece):
                return
