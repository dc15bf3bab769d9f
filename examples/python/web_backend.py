"""A chat backend for many users: `uvicorn web_backend:app --workers 2`, with FastAPI.

The model is that of MODEL, or a server of OpenAI's API at MODEL_URL; the conversations are in the file CHATS.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel
from stepwell import Agent, BusyError, Conversation, Model, SqliteStore, StepwellError, ThreadKey, ToolContext, Turn, tool

ORDERS = {"ada": ["a kettle"], "bob": ["a lamp", "a rug"]}


@tool
async def list_orders(context: ToolContext[None]) -> list[str]:
    """The orders of the user."""
    user, _, _ = context.thread_id.partition("/")
    return ORDERS.get(user, [])


model = Model(os.environ.get("MODEL", "openai:gpt-5-mini"), base_url=os.environ.get("MODEL_URL"))
agent = Agent(model, instructions="You help the customers of a shop.", tools=[list_orders])


async def finish_what_others_left(store: SqliteStore) -> None:
    """Continues the turns of workers that died: this worker's own are left alone."""
    while True:
        for left in await agent.recover(store=store):
            if left.turn is not None:
                print("continues", left.key.thread.thread, flush=True)
                await left.turn.detach()
        await asyncio.sleep(2)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
    store = await SqliteStore.open(os.environ.get("CHATS", "chats.db"))
    finishing = asyncio.create_task(finish_what_others_left(store))
    yield {"store": store}
    finishing.cancel()


app = FastAPI(lifespan=lifespan)


@app.exception_handler(BusyError)
async def busy(request: Request, error: BusyError) -> JSONResponse:
    return JSONResponse({"detail": "an answer is under way"}, status_code=409)


async def user_of(authorization: Annotated[str, Header()]) -> str:
    """Returns the user of a token; an app has its own login here."""
    user = authorization.removeprefix("Bearer token-of-")
    if user not in ORDERS:
        raise HTTPException(401)
    return user


User = Annotated[str, Depends(user_of)]


async def conversation_of(request: Request, user: User, chat: str) -> Conversation[None, str]:
    return agent.conversation(ThreadKey(f"{user}/{chat}", room=user), store=request.state.store)


class Said(BaseModel):
    text: str


@app.get("/chats")
async def chats(request: Request, user: User) -> list[str | None]:
    return [thread.title for thread in await request.state.store.threads(room=user)]


@app.get("/chats/{chat}")
async def show(conversation: Annotated[Conversation[None, str], Depends(conversation_of)]) -> list[dict[str, Any]]:
    return (await conversation.load()).to_json()


@app.post("/chats/{chat}")
async def send(said: Said, conversation: Annotated[Conversation[None, str], Depends(conversation_of)]) -> StreamingResponse:
    turn = conversation.stream(said.text)
    await turn.begun()
    if turn.stored is None:
        await turn.result()  # raises why it could not begin
    return StreamingResponse(server_sent_events(turn), media_type="text/event-stream")


async def server_sent_events(turn: Turn[str]) -> AsyncIterator[str]:
    try:
        async for text in turn.text_stream:
            yield f"data: {json.dumps(text)}\n\n"
    except StepwellError as error:
        yield f"event: problem\ndata: {json.dumps(error.message)}\n\n"
    yield "event: end\ndata:\n\n"


@app.get("/")
async def page() -> FileResponse:
    return FileResponse(Path(__file__).with_suffix(".html"))
