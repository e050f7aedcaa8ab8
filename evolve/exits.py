"""The exit codes, and what they mean to a script."""

from __future__ import annotations

DONE = 0
FAULT = 1  # an error of ours; its traceback is shown
BAD_INPUT = 2  # bad input or usage; one message says what to do
NOT_VALID = 3  # finished, but the law could not be verified or a check failed
INTERRUPTED = 130  # interrupted; the best law so far is valid
