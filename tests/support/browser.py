"""Chromium without a window, driven by its own protocol over a pipe: pages are opened, looked at and clicked in.

The pipe of the DevTools protocol takes and gives JSON messages, each ended by a zero byte, so nothing beside the
standard library is needed. https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
# root may start it no other way, and the pages are our own.
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe")


class Page:
    """One page. `requests` are the addresses that it asked for, `complaints` what it wrote to its console as errors."""

    def __init__(self, reader: Any, writer: Any) -> None:
        self._reader, self._writer = reader, writer
        self._session: dict[str, str] = {}
        self._number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def open(self, path: Path) -> None:
        self.ask("Page.navigate", url=path.as_uri())
        while self._next().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def show_as(self, *, width: int, scheme: str) -> None:
        """A window so many pixels wide, of somebody who likes pages `light` or `dark`."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params, **self._session}
        self._writer.write(json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._reader.read(1)) != b"\0":
            assert byte, "the browser has ended"
            data += byte
        event: dict[str, Any] = json.loads(data)
        self._note(event.get("method", ""), event.get("params", {}))
        return event

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(params["args"]))


@contextmanager
def browser_page(folder: Path) -> Iterator[Page]:
    """A fresh page of a fresh browser that keeps its files in the folder."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium is installed: apt install chromium-headless-shell")
    their_input, our_output = os.pipe()
    our_input, their_output = os.pipe()
    # It takes the descriptors 3 and 4, and no others.
    command = f'exec "$@" 3<&{their_input} 4>&{their_output}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", command, "bash", program, *FLAGS, f"--user-data-dir={folder}"],
        pass_fds=(their_input, their_output),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_input)
    os.close(their_output)
    with os.fdopen(our_input, "rb") as reader, os.fdopen(our_output, "wb", buffering=0) as writer:
        try:
            yield Page(reader, writer)
        finally:
            process.kill()
            process.wait()
