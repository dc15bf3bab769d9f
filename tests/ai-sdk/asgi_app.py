"""Serves `examples/python/serve.py` on a port of its own, whose address it prints."""

import asyncio
import runpy
import socket
import sys

import uvicorn


async def serve(app) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/agent", flush=True)
    await server.serve(sockets=[listener])


asyncio.run(serve(runpy.run_path(sys.argv[1])["app"]))
