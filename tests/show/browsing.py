"""A real browser for tests: chromium with its driver; and axe-core, which finds what assistive tools cannot use."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1300,950",
    # nothing but this machine can be reached: a page that asks for more shows an error in its console
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)  # fmt: skip


def open_browser(folder: Path):
    """Return a browser with an empty profile; the test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no browser (Debian: chromium chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder / "downloads")})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def complaints(browser) -> list[str]:
    """Return what the browser's console said since it was last asked."""
    return [line["message"] for line in browser.get_log("browser")]


def axe_source() -> str:
    """Return axe-core as text: from a cache, or from the registry of npm; the test is skipped without either."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "relbounds-tests"
    kept = cache / "axe.min.js"
    if not kept.exists():
        if shutil.which("npm") is None:
            pytest.skip("no axe-core (npm is not installed)")
        with tempfile.TemporaryDirectory() as folder:
            asked = ["npm", "pack", "--silent", "axe-core@4", "--pack-destination", folder]
            done = subprocess.run(asked, capture_output=True, text=True, timeout=120)
            packed = list(Path(folder).glob("axe-core-*.tgz"))
            if done.returncode or not packed:
                pytest.skip("no axe-core (the registry of npm cannot be reached)")
            with tarfile.open(packed[0]) as archive:
                member = archive.extractfile("package/axe.min.js")
                assert member is not None
                cache.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(member.read())
    return kept.read_text(encoding="utf-8")


def violations(browser) -> list[str]:
    """Return what axe-core finds wrong on the page that is shown."""
    # injected by the browser's own tools, so that the page's policy need not allow it
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_source()})
    found = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']})"
        ".then((r) => done(r.violations), (e) => done([{id: String(e), nodes: []}]));"
    )
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found
        for node in one["nodes"] or [{"target": ""}]
    ]


def look(browser, width: int, dark: bool = False, height: int = 950) -> None:
    """Make the page so wide, in a light or a dark theme."""
    shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [theme]})
