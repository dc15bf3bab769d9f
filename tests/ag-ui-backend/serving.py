"""Serves a backend on a port of its own, whose address it prints, until the standard input ends."""

import asyncio
import os
import socket
import sys
import threading

import uvicorn


async def _serve(app) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    await server.serve(sockets=[listener])


def _end_with_the_tests() -> None:
    sys.stdin.read()
    os._exit(0)


def serve(app) -> None:
    threading.Thread(target=_end_with_the_tests, daemon=True).start()
    asyncio.run(_serve(app))
