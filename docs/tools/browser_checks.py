"""The built site in a real browser: every page at the width of a phone, tabs, and the search."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cheatsheet import FLAGS, find_browser

PHONE = 390  # pixels
# What is wider than the page, pictures that did not load, formulas that became nothing.
FAULTS = """
const width = document.documentElement.clientWidth, out = [];
if (document.documentElement.scrollWidth > width + 1) {
  const wide = [...document.querySelectorAll('main *')].find((one) => one.getBoundingClientRect().right > width + 1
    && !one.closest('pre, table, .math-block, .highlight'));
  out.push('is wider than a phone' + (wide ? ': ' + wide.outerHTML.slice(0, 120) : ''));
}
for (const one of document.images) if (one.complete && !one.naturalWidth) out.push('does not show ' + one.src);
for (const one of document.querySelectorAll('math'))
  if (one.checkVisibility() && !one.getBoundingClientRect().width) out.push('shows nothing for ' + one.textContent);
return out;
"""
# Where each search must lead, among others.
SEARCHES = {
    "substitutes": "guides/substitutes-and-costs.html",
    "censored": "guides/survival-times.html",
    "level_contrasts": "reference/python/RelboundsResults.html",
    "install_relbounds": "reference/r/install_relbounds.html",
}


def check(site: Path) -> list[str]:
    """Return what a reader would stumble over; where there is no browser, say so and return nothing."""
    with opened() as browser:
        if browser is None:
            print("The site is not looked at: Chromium and its driver are not installed.")
            return []
        return [*narrow(browser, site), *_tabs(browser, site), *_found(browser, site)]


@contextlib.contextmanager
def opened() -> Iterator[Any]:
    """Open a browser that reaches no network, or give None where there is none."""
    chromium, driver = find_browser(), shutil.which("chromedriver")
    if chromium is None or driver is None:
        yield None
        return
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        options.set_capability("goog:loggingPrefs", {"browser": "SEVERE"})
        for flag in (*FLAGS, f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND"):
            options.add_argument(flag)
        browser = webdriver.Chrome(options=options, service=Service(driver))
        try:
            yield browser
        finally:
            browser.quit()


def narrow(browser: Any, site: Path) -> list[str]:
    """Return what is wrong with pages at the width of a phone, and what the browser's console says of them."""
    shape = {"width": PHONE, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    out = []
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.parts:
            browser.get(path.resolve().as_uri())
            said = browser.execute_script(FAULTS) + [line["message"] for line in browser.get_log("browser")]
            out += [f"{path.relative_to(site)}: {fault}" for fault in said]
    return out


def _tabs(browser: Any, site: Path) -> list[str]:
    """Return a complaint unless choosing R in one tab set of the front page chooses it in all."""
    browser.get((site / "index.html").resolve().as_uri())
    labels = browser.find_elements("css selector", "label.sd-tab-label[data-sync-id='r']")
    browser.execute_script("arguments[0].click()", labels[0])
    chosen = browser.execute_script(
        "return [...document.querySelectorAll('.sd-tab-set')].map((one) =>"
        " one.querySelector('input:checked + label').dataset.syncId)"
    )
    return [] if set(chosen) == {"r"} else [f"index.html: of all tabs {chosen} are shown after choosing R"]


def _found(browser: Any, site: Path) -> list[str]:
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    out = []
    for word, place in SEARCHES.items():
        browser.get(f"{(site / 'search.html').resolve().as_uri()}?q={word}")
        links = "[...document.querySelectorAll('#search-results a')]"
        script = f"return {links}.some((one) => one.href.includes('{place}'))"
        try:
            WebDriverWait(browser, 20, poll_frequency=0.1).until(lambda one, s=script: one.execute_script(s))
        except TimeoutException:
            out.append(f"search.html: {word} does not lead to {place}")
    return out
