"""What a run machine asks the app to do."""

from __future__ import annotations

from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._record import lift
from ._ffi import effects as _shapes
from ._ffi.effects import *
from .events import lift_event

__all__ = ["lift_effect", "lift_outputs"]
__all__ += _shapes.__all__


def lift_effect(effect: Any) -> Effect:
    """Converts an effect to ours."""
    if isinstance(effect, (_ffi.Effect.OPEN_STREAM, _ffi.Effect.CANCEL_ANSWER)):
        request = effect.request
        headers = [(header.name, header.value) for header in request.headers]
        kind = OpenStream if isinstance(effect, _ffi.Effect.OPEN_STREAM) else CancelAnswer
        return kind(effect.id, HttpRequest(request.method, request.url, headers, request.body))
    lifted: Effect = lift(effect)
    return lifted


def lift_outputs(outputs: _ffi.Outputs) -> Outputs:
    """Converts a batch to ours."""
    return Outputs(
        [lift_event(event) for event in outputs.events],
        [lift_effect(effect) for effect in outputs.effects],
        outputs.wake_at,
    )
