"""Headless Chromium, driven by the DevTools protocol over pipes."""

import base64
import fcntl
import itertools
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
"""Commands that start it."""

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--remote-debugging-pipe",
)

KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    " ": (32, " "),
    "End": (35, ""),
    "Home": (36, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
}
"""Keys by name: their codes, and the text that they type."""


def find_browser():
    """The path of Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def _start(browser, flags):
    """Start a browser; the ends of pipes to and from it, and the number of its process."""
    commands, write = os.pipe()
    read, answers = os.pipe()
    # The browser reads commands from descriptor 3, and answers to descriptor 4.
    inside = [fcntl.fcntl(one, fcntl.F_DUPFD, 10) for one in (commands, answers)]
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, inside[0], 3),
        (os.POSIX_SPAWN_DUP2, inside[1], 4),
    ]
    actions += [(os.POSIX_SPAWN_CLOSE, one) for one in inside]
    process = os.posix_spawn(browser, [browser, *flags], os.environ, file_actions=actions)
    for one in (commands, answers, *inside):
        os.close(one)
    return write, read, process


class Page:
    """A page of a browser, used as a context; its address is opened by `open`."""

    def __init__(self, width=1280, height=1000):
        self._numbers = itertools.count(1)
        self.events = []
        self._size = width, height

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.downloads = Path(self._folder.name) / "downloads"
        self.downloads.mkdir()
        flags = [*_FLAGS, f"--user-data-dir={self._folder.name}/profile", "about:blank"]
        self._write, self._read, self._process = _start(find_browser(), flags)
        self._buffer = b""
        self._session = None
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "DOM", "Log"):
            self.send(f"{domain}.enable")
        self.resize(*self._size)
        about = {"behavior": "allow", "downloadPath": str(self.downloads)}
        self.send("Browser.setDownloadBehavior", **about)
        return self

    def __exit__(self, *error):
        os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def send(self, method, **params):
        """The result of a command."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session is not None and not method.startswith("Browser."):
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def _receive(self):
        """The next message of the browser."""
        while b"\0" not in self._buffer:
            text = os.read(self._read, 1 << 20)
            if not text:
                raise RuntimeError("The browser has ended.")
            self._buffer += text
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def evaluate(self, expression):
        """The value of an expression of JavaScript in the page."""
        settings = {"returnByValue": True, "awaitPromise": True}
        result = self.send("Runtime.evaluate", expression=expression, **settings)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def open(self, address):
        """Open an address, and wait until it is loaded; forget earlier events."""
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def wait(self, expression, seconds=60):
        """Wait until an expression is true of the page."""
        start = time.monotonic()
        while not self.evaluate(expression):
            if time.monotonic() - start > seconds:
                raise TimeoutError(f"{expression} is not true after {seconds} seconds.")
            time.sleep(0.1)

    def send_key(self, key, times=1):
        """Press a key, as of the keyboard."""
        code, text = KEYS.get(key, (ord(key.upper()) if len(key) == 1 else 0, key))
        about = {"key": key, "windowsVirtualKeyCode": code}
        for _ in range(times):
            self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
            self.send("Input.dispatchKeyEvent", type="keyUp", **about)

    def focus_by_tab(self, expression, limit=400):
        """Press Tab until an expression is true of the element with the focus, `e`."""
        is_there = f"(e => !!e && ({expression}))(document.activeElement)"
        for _ in range(limit):
            if self.evaluate(is_there):
                return
            self.send_key("Tab")
        raise AssertionError(f"No key reaches the element with {expression}.")

    def choose(self, name, value, within="document"):
        """Choose an option of the select of this name by keyboard, by its place in the list."""
        self.focus_by_tab(f"e.name === {json.dumps(name)} && {within}.contains(e)")
        number = self.evaluate(
            f"[...document.activeElement.options].findIndex(o => o.value === {json.dumps(value)})"
        )
        if number < 0:
            raise AssertionError(f"{name} has no option {value!r}.")
        self.send_key("Home")
        self.send_key("ArrowDown", number)

    def wait_for_download(self, name, seconds=20):
        """The path of a file that the page saves."""
        path = self.downloads / name
        end = time.monotonic() + seconds
        while not path.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{name} is not saved after {seconds} seconds.")
            time.sleep(0.1)
        return path

    def resize(self, width, height):
        """Set the size of the window."""
        about = {"deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, **about)

    def problems(self):
        """Errors of scripts, and messages of the browser about the page."""
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [one["params"] for one in self.events if one["method"] in kinds]

    def save_picture(self, path, is_full=True):
        """Write a picture of the page as PNG."""
        settings = {"captureBeyondViewport": is_full}
        if is_full:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "scale": 1, "width": size["width"]}
            settings["clip"] = clip | {"height": min(size["height"], 9000)}
        data = self.send("Page.captureScreenshot", **settings)["data"]
        Path(path).write_bytes(base64.b64decode(data))
