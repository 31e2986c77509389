"""Browsers without a window and without a network, which open pages and run scripts in them."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

SECONDS = 30
"""How long a page may take to be ready, on a machine that does other things, too."""

CHROMIUM, CHROMEDRIVER, FIREFOX = "chromium", "chromedriver", "firefox-esr"
"""Names of the programs."""

NO_NETWORK = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
"""What Chromium makes of every name of a host but this machine."""

PREFERENCES = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.proxy.type": 1,
    "network.proxy.socks": "127.0.0.1",
    "network.proxy.socks_port": 9,
    "remote.active-protocols": 1,
    "toolkit.telemetry.enabled": False,
}
"""Firefox asks a port that nobody listens to for whatever it wants from the network."""

COMMANDS = """
window.saved = [];
window.copied = null;
const make = URL.createObjectURL;
URL.createObjectURL = (blob) => { window.saved.push({ blob }); return "blob:null/none"; };
HTMLAnchorElement.prototype.click = function () { window.saved.at(-1).name = this.download; };
const clipboard = { writeText: async (text) => { window.copied = text; } };
Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true });
"""
"""Keeps what the page saves and copies where tests find it, instead of in files."""


AXE = os.environ.get("SWDUAL_TEST_AXE", "")
"""The file axe.min.js of the npm package axe-core."""

FIND_FAULTS = """
const grave = (fault) => ["serious", "critical"].includes(fault.impact);
const tell = (fault) => [fault.help, ...fault.nodes.map((node) => node.html.slice(0, 200))];
return axe.run(document, { resultTypes: ["violations"] })
  .then((result) => result.violations.filter(grave).map(tell));
"""


class Browser:
    """What the browsers have in common.

    `messages` are those of the console, and `requests` the addresses that the page asked for.
    """

    messages: list[str]
    requests: list[str]

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a page, and wait until its script is ready."""
        address = page.resolve().as_uri()
        self.go("about:blank")
        self.collect()
        self.messages, self.requests = [], []
        self.go(f"{address}#{fragment}" if fragment else address)
        self.wait("document.documentElement.classList.contains('ready')")
        self.run(COMMANDS)

    def wait(self, condition: str) -> None:
        """Wait until a condition is true in the page."""
        end = time.monotonic() + SECONDS
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < end, (condition, self.collect())
            time.sleep(0.02)

    def collect(self) -> list[str]:
        """Return the messages of the console up to now."""
        self.run("return 0")
        return self.messages

    def saved(self, label: str) -> tuple[str, str]:
        """Click a button that saves a file, and return the file's name and its content."""
        return tuple(
            self.run(
                """
                const button = [...document.querySelectorAll(".tools button")]
                  .find((each) => each.textContent === arguments[0]);
                button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
                const { blob, name } = window.saved.at(-1);
                return blob.text().then((text) => [name, text]);
                """,
                label,
            )
        )

    def find_faults(self) -> list[list[str]]:
        """Return what axe-core finds serious in the page; skip the test if it is missing."""
        if not Path(AXE).is_file():
            pytest.skip("SWDUAL_TEST_AXE does not name the file axe.min.js of axe-core")
        self.run(Path(AXE).read_text(encoding="utf-8") + "\nwindow.axe = this?.axe ?? axe;")
        return self.run(FIND_FAULTS)

    def go(self, address: str) -> None:
        """Open an address."""
        raise NotImplementedError

    def run(self, script: str, *arguments: Any) -> Any:
        """Return what the body of a function returns; a promise is waited for."""
        raise NotImplementedError

    def print_pdf(self) -> bytes:
        """Return the page as it is printed."""
        raise NotImplementedError

    def close(self) -> None:
        """End the browser."""
        raise NotImplementedError


class Chromium(Browser):
    """Debian's Chromium, driven by Selenium."""

    def __init__(self, folder: Path) -> None:
        webdriver = pytest.importorskip("selenium.webdriver", reason="Selenium is not installed")
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        for argument in (
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"),
            *(f"--host-resolver-rules={NO_NETWORK}", f"--user-data-dir={folder / 'profile'}"),
            "--disable-dev-shm-usage",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.binary_location = find(CHROMIUM)
        self.driver = webdriver.Chrome(options=options, service=Service(find(CHROMEDRIVER)))
        self.messages, self.requests = [], []

    def go(self, address: str) -> None:
        self.driver.get(address)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def collect(self) -> list[str]:
        self.messages += [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] == "Network.requestWillBeSent":
                self.requests.append(event["params"]["request"]["url"])
        return self.messages

    def print_pdf(self) -> bytes:
        return base64.b64decode(self.driver.print_page())

    def close(self) -> None:
        self.driver.quit()


class Firefox(Browser):
    """Debian's Firefox, driven by WebDriver BiDi itself: Debian has no geckodriver."""

    def __init__(self, folder: Path) -> None:
        websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")
        profile = folder / "profile"
        profile.mkdir()
        lines = (f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items())
        (profile / "user.js").write_text("\n".join(lines))
        arguments = ["--headless", "--no-remote", "--remote-debugging-port", "0"]
        self.process = subprocess.Popen(
            [find(FIREFOX), *arguments, "--profile", profile, "--width", "1400"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "MOZ_CRASHREPORTER_DISABLE": "1"},
        )
        self.messages, self.requests = [], []
        self._number = 0
        port = self._find_port(profile / "WebDriverBiDiServer.json")
        self._socket = websocket.create_connection(
            f"ws://127.0.0.1:{port}/session", timeout=SECONDS, suppress_origin=True
        )
        self._send("session.new", capabilities={})
        self._send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self._context = self._send("browsingContext.create", type="tab")["context"]
        self._send(
            "browsingContext.setViewport",
            context=self._context,
            viewport={"width": 1400, "height": 1000},
        )

    def _find_port(self, file: Path) -> int:
        """Return the port that the browser listens to; it writes it into its profile."""
        end = time.monotonic() + 2 * SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError, ValueError, KeyError):
                return int(json.loads(file.read_text())["ws_port"])
            assert self.process.poll() is None, "Firefox ended"
            time.sleep(0.05)
        raise AssertionError("Firefox does not listen")

    def _send(self, method: str, **params: Any) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert answer["type"] == "success", answer
                return answer["result"]
            if answer.get("method") == "log.entryAdded":
                self.messages.append(answer["params"]["text"])
            elif answer["params"].get("context") == self._context:
                self.requests.append(answer["params"]["request"]["url"])

    def go(self, address: str) -> None:
        self._send("browsingContext.navigate", context=self._context, url=address, wait="complete")

    def run(self, script: str, *arguments: Any) -> Any:
        told = json.dumps(json.dumps(arguments))
        body = f"const f = function () {{ {script} }};"
        answer = self._send(
            "script.evaluate",
            expression=f"(async () => {{ {body} return JSON.stringify(await "
            f"f.apply(null, JSON.parse({told})) ?? null); }})()",
            target={"context": self._context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"])

    def print_pdf(self) -> bytes:
        return base64.b64decode(self._send("browsingContext.print", context=self._context)["data"])

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._send("browser.close")
        with contextlib.suppress(Exception):
            self._socket.close()
        self.process.terminate()
        self.process.wait(SECONDS)


BROWSERS = {"chromium": Chromium, "firefox": Firefox}
"""What can be started, by its name."""


def find(program: str) -> str:
    """Return the path of a program; skip the test if it is missing."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path
