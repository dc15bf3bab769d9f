"""Sends the library's log to the logger ``stepwell``."""

from __future__ import annotations

import logging

from ._ffi import stepwell_ffi as _ffi

logger = logging.getLogger("stepwell")


def begin() -> None:
    """Sends the library's log to the logger, from now on. The library has been loaded."""
    levels = {
        _ffi.LogLevel.DEBUG: logging.DEBUG,
        _ffi.LogLevel.INFO: logging.INFO,
        _ffi.LogLevel.WARN: logging.WARNING,
        _ffi.LogLevel.ERROR: logging.ERROR,
    }

    class Log(_ffi.LogSink):
        def log(self, level: _ffi.LogLevel, message: str) -> None:
            logger.log(levels[level], "%s", message)

    _ffi.log_to(Log())
