"""Sends the library's log to the logger ``stepwell``."""

from __future__ import annotations

import logging

from ._ffi import stepwell_ffi as _ffi

logger = logging.getLogger("stepwell")

_LEVELS = {
    _ffi.LogLevel.DEBUG: logging.DEBUG,
    _ffi.LogLevel.INFO: logging.INFO,
    _ffi.LogLevel.WARN: logging.WARNING,
    _ffi.LogLevel.ERROR: logging.ERROR,
}


class _Log(_ffi.LogSink):
    def log(self, level: _ffi.LogLevel, message: str) -> None:
        logger.log(_LEVELS[level], "%s", message)


def begin() -> None:
    """Sends the library's log to the logger, from now on."""
    _ffi.log_to(_Log())
