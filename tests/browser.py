"""A headless Chromium driven through its debugging pipe, so that nothing has to be installed beside it."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
SECONDS = 60


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """Sends commands of the DevTools protocol and keeps the events that come in between."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back = os.fdopen(to, "wb", buffering=0), os.fdopen(back, "rb")
        self._rest, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []

    def open(self, path: Path, width: int, height: int = 900) -> None:
        """Show a file in a window of that width, once everything is loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.events.clear()
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._take()

    def value(self, expression: str) -> Any:
        """Value of an expression in the page."""
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def complaints(self) -> list[str]:
        """Errors on the console, exceptions, and requests other than for the file itself and data."""
        found = []
        for event in self.events:
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"]["text"])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and params["request"]["url"].startswith("http"):
                found.append(params["request"]["url"])
        return found

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Result of a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _take(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._back.fileno(), 65536)
            assert part, "the browser has gone"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        answer = json.loads(line)
        if "method" in answer:
            self.events.append(answer)
        return dict(answer)

    def close(self) -> None:
        self._to.close()
        self._back.close()


@contextmanager
def browser(program: str) -> Iterator[Browser]:
    """A browser without window, profile or sandbox (which root may not use), for files of our own."""
    read_commands, write_commands = os.pipe()
    read_answers, write_answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        flags = ["--headless=new", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", "--no-sandbox"]
        # The pipe is file descriptor 3 for commands and 4 for answers.
        command = f'exec "$0" "$@" 3<&{read_commands} 4>&{write_answers}'
        process = subprocess.Popen(
            ["bash", "-c", command, program, *flags, "--remote-debugging-pipe", f"--user-data-dir={profile}"],
            pass_fds=(read_commands, write_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        driver = Browser(write_commands, read_answers)
        try:
            yield driver
        finally:
            driver.close()
            _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(5)  # a browser whose pipe is closed ends by itself
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(SECONDS)
