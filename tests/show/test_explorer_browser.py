"""The explorer in a real browser: bars are dragged, numbers typed, and the page says what `constrain` says."""

from __future__ import annotations

import numpy as np
import pytest
from browsing import complaints, look, open_browser, violations

import relbounds as rb
from relbounds.show.columns import format_bound

pytest.importorskip("bottle")
pytest.importorskip("waitress")
pytest.importorskip("selenium")

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = open_browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.quit()


@pytest.fixture(scope="module")
def fit():
    """Two copies, one needed term, noise, a factor; one name is HTML."""
    simulated = rb.simulate.binary(n=80, strong=1, weak=2, irrelevant=1, seed=1)
    data = simulated.data.rename(columns={"x4": NASTY})
    data["site"] = np.random.default_rng(0).choice(["A", "<b>B</b>", "C"], len(data))
    return rb.relbounds(
        f"y ~ x1 + x2 + x3 + Q('{NASTY}') + C(site)", data, C=1.0, delta=0.05, control="fdr", progress=False
    )


@pytest.fixture(scope="module")
def served(fit):
    with fit.explorer(open_browser=False, block=False) as page:
        yield page


@pytest.fixture
def page(browser, served):
    look(browser, 1300)
    browser.get("about:blank")
    browser.get(served.url)
    wait(browser, "return document.body.dataset.settled !== undefined")
    complaints(browser)
    yield browser
    assert complaints(browser) == []


def wait(browser, script, seconds=60):
    return WebDriverWait(browser, seconds, poll_frequency=0.05).until(lambda one: one.execute_script(script))


def settle(browser, moves):
    """Wait until so many moves stand and their classes are there."""
    wait(browser, f"return document.body.dataset.settled === '{moves}'")
    wait(browser, "return document.querySelectorAll('.stale').length === 0")


def numbers(browser, row):
    return [browser.find_element(By.ID, f"number-{row}-{end}").get_attribute("value") for end in (0, 1)]


def said(table, row):
    return [format_bound(table.iloc[row][end]) for end in ("lower", "upper")]


def same_as(browser, what_if):
    for row in range(len(what_if.table)):
        assert numbers(browser, row) == said(what_if.table, row)
    words = {"fixed": ("held", "off")}
    for row, kind in enumerate(what_if.table["relevance"]):
        shown = browser.execute_script(
            f"return document.querySelector('[data-row=\"{row}\"] .class').textContent"
        )
        assert shown.endswith(words.get(kind, (kind,)))


def wishes_of(browser, fit):
    """Run the code that the page shows."""
    return eval(browser.find_element(By.ID, "python").text, {"fit": fit})


def test_dragging_an_end_moves_all_other_bars(page, fit):
    same_as(page, fit)
    end = page.find_element(By.ID, "end-1-1")
    width = page.execute_script("return document.querySelector('[data-row=\"1\"] .track').clientWidth")
    before = page.find_element(By.CSS_SELECTOR, "[data-row='2'] .bar").rect
    ActionChains(page).click_and_hold(end).move_by_offset(-width // 8, 0).move_by_offset(
        -width // 8, 0
    ).perform()
    # bars follow while the button is still down
    wait(page, "return document.getElementById('number-2-0').value !== '0.000'")
    ActionChains(page).release().perform()
    settle(page, 1)
    what_if = wishes_of(page, fit)
    assert list(what_if.constraints) == ["x2"]
    same_as(page, what_if)
    after = page.find_element(By.CSS_SELECTOR, "[data-row='2'] .bar").rect
    assert after["x"] > before["x"] + 5
    # the other end, too
    start = page.find_element(By.ID, "end-0-0")
    ActionChains(page).drag_and_drop_by_offset(start, 6, 0).perform()
    settle(page, 2)
    what_if = wishes_of(page, fit)
    assert set(what_if.constraints) == {"x1", "x2"}
    same_as(page, what_if)


def test_typing_switching_off_undo_redo_reset(page, fit):
    page.find_element(By.ID, "number-1-1").send_keys(Keys.CONTROL + "a" + Keys.NULL, "0.1", Keys.TAB)
    settle(page, 1)
    half = fit.constrain({"x2": (0, 0.1)})
    same_as(page, half)
    assert "#x2=..0.1" in page.current_url
    page.find_element(By.ID, "switch-1").click()
    settle(page, 2)
    off = fit.constrain({"x2": "off"})
    same_as(page, off)
    assert page.find_element(By.ID, "python").text == 'fit.constrain({"x2": "off"})'
    assert page.find_element(By.ID, "r").text == 'constrain(fit, x2 = "off")'
    # its copy steps in, is needed now, and can no longer be switched off
    row = page.find_element(By.CSS_SELECTOR, "[data-row='2']")
    assert "up" in row.get_attribute("class").split() and "▲" in row.text
    assert page.find_element(By.ID, "switch-2").get_attribute("aria-disabled") == "true"
    assert "x3" in page.find_element(By.ID, "status").text
    wait(page, "return document.getElementById('cheapest').textContent.includes('x1 + x3')")
    page.find_element(By.ID, "undo").click()
    settle(page, 1)
    same_as(page, half)
    ActionChains(page).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    settle(page, 0)
    same_as(page, fit)
    assert "#" not in page.current_url
    page.find_element(By.ID, "redo").click()
    settle(page, 1)
    same_as(page, half)
    page.find_element(By.ID, "reset").click()
    settle(page, 2)
    same_as(page, fit)


def test_what_cannot_be_is_refused_with_its_reason(page, fit):
    page.find_element(By.ID, "switch-1").click()
    settle(page, 1)
    page.find_element(By.ID, "switch-2").click()
    why = "document.querySelector(\"[data-row='2'] .why\")"
    wait(page, f"return !{why}.hidden")
    reason = page.execute_script(f"return {why}.textContent")
    with pytest.raises(rb.InfeasibleError) as refused:
        fit.constrain({"x2": "off", "x3": "off"})
    assert reason == str(refused.value)
    settle(page, 1)
    same_as(page, fit.constrain({"x2": "off"}))
    hatched = page.execute_script(
        "return [...document.querySelectorAll(\"[data-row='2'] .gone\")].map((g) => [g.hidden, g.title])"
    )
    assert not hatched[0][0] and hatched[0][1].startswith("Not possible with x2 off")
    for text, expected in (
        ("many", "'many' is not a number"),
        ("-1", "negative"),
        ("0.9", "No equivalent model"),
    ):
        page.find_element(By.ID, "number-2-0").send_keys(Keys.CONTROL + "a" + Keys.NULL, text, Keys.ENTER)
        wait(page, f"return !{why}.hidden && {why}.textContent.includes({expected!r})")
    settle(page, 1)


def test_keys_move_a_bar(page, fit):
    end = page.find_element(By.ID, "end-1-1")
    end.send_keys(Keys.PAGE_DOWN)
    settle(page, 1)
    end.send_keys(Keys.ARROW_LEFT)
    settle(page, 2)
    what_if = wishes_of(page, fit)
    assert what_if.constraints["x2"][1] < fit.table["upper"]["x2"]
    same_as(page, what_if)
    assert end.get_attribute("role") == "slider" and end.get_attribute("aria-label") == "x2, most use"
    assert end.get_attribute("aria-valuenow") == said(what_if.table, 1)[1]
    end.send_keys(Keys.HOME)
    settle(page, 3)
    same_as(page, fit.constrain({"x2": "off"}))
    end.send_keys(Keys.DELETE)
    settle(page, 4)
    same_as(page, fit)


def test_the_address_holds_the_state_and_tabs_are_apart(page, fit, served):
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    try:
        page.get(served.url + "#x3=off&x1=0.1..")
        settle(page, 1)
        both = fit.constrain({"x3": "off", "x1": (0.1, None)})
        same_as(page, both)
        page.execute_script("location.hash = '#x2=off'")
        settle(page, 2)
        same_as(page, fit.constrain({"x2": "off"}))
        page.execute_script("location.hash = '#nothing=off'")
        wait(page, "return document.getElementById('alert').textContent.includes(\"'nothing'\")")
        page.close()
    finally:
        page.switch_to.window(first)
    same_as(page, fit)
    page.find_element(By.ID, "switch-1").click()
    settle(page, 1)
    same_as(page, fit.constrain({"x2": "off"}))


def test_names_are_text(page):
    shown = page.find_element(By.ID, "rows").text
    assert NASTY in shown and not page.find_elements(
        By.CSS_SELECTOR, "#rows img, #rows b, aside b, aside img"
    )
    page.find_element(By.CSS_SELECTOR, ".fold").click()
    levels = page.find_elements(By.CSS_SELECTOR, ".row.inner:not([hidden]) .label")
    assert [one.text for one in levels] == ["<b>B</b>", "A", "C"] or "<b>B</b>" in [
        one.text for one in levels
    ]


def test_figure_and_table_are_exported(page):
    page.execute_script(
        "window.saved = []; URL.createObjectURL = ((make) => (blob) => { saved.push(blob); return make(blob); })"
        "(URL.createObjectURL.bind(URL)); HTMLAnchorElement.prototype.click = () => {};"
    )
    for kind, count in (("csv", 1), ("latex", 2), ("svg", 3), ("png", 5)):
        page.find_element(By.CSS_SELECTOR, f"[data-export='{kind}']").click()
        wait(page, f"return saved.length >= {count}")
    texts = page.execute_async_script(
        "const done = arguments[0]; Promise.all(saved.slice(0, 3).map((one) => one.text())).then(done)"
    )
    assert texts[0].startswith("feature,part,term") and "\\begin{table}" in texts[1]
    assert "&lt;img src=x" in texts[2] and "<img" not in texts[2]
    kind, size = page.execute_script("return [saved[4].type, saved[4].size]")
    assert kind == "image/png" and size > 5000


@pytest.mark.parametrize(("width", "dark"), [(1300, False), (390, True)])
def test_nothing_stands_in_the_way_of_assistive_tools(page, width, dark, tmp_path):
    look(page, width, dark)
    page.find_element(By.ID, "switch-1").click()
    settle(page, 1)
    assert violations(page) == []
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.save_screenshot(str(tmp_path / f"explorer-{width}-{'dark' if dark else 'light'}.png"))
    focus = page.find_element(By.ID, "end-2-1")
    focus.send_keys(Keys.SHIFT)
    assert page.execute_script("return getComputedStyle(arguments[0]).outlineStyle", focus) == "solid"


@pytest.fixture(scope="module")
def report(fit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return fit.write_report(folder / "report.html", groups=False, interactive=True)


def shown_bounds(browser, row):
    text = browser.find_element(By.CSS_SELECTOR, f"#what-if-bars [data-row='{row}'] .numbers").text
    return [float(value) for value in text.split(" to ")]


def test_sliders_of_a_report_are_what_constrain_says(browser, fit, report):
    look(browser, 1300)
    complaints(browser)
    browser.get(report.as_uri())
    terms = [i for i, kind in enumerate(fit.table["row"]) if kind == "term"]
    for row in terms:
        pair = fit.table.iloc[row]
        assert shown_bounds(browser, row) == [float(format_bound(pair[end])) for end in ("lower", "upper")]
    rng = np.random.default_rng(3)
    for row in (1, terms[-1]):
        low, high = fit.table.iloc[row][["lower", "upper"]]
        value = float(rng.uniform(low, high))
        moved = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        browser.execute_script(moved, browser.find_element(By.ID, f"hold-{row}"), str(value))
        what_if = fit.constrain({fit.table.index[row]: value}, noise=False).table
        for other in terms:
            if other != row:
                said = what_if.iloc[other][["lower", "upper"]].tolist()
                assert shown_bounds(browser, other) == pytest.approx(said, abs=2e-3)
    browser.execute_script("document.getElementById('what-if-release').click()")
    assert shown_bounds(browser, 1) == [
        float(one) for one in (format_bound(v) for v in fit.table.iloc[1][["lower", "upper"]])
    ]
    assert complaints(browser) == []


def test_a_report_sorts_filters_folds_and_can_be_used_by_all(browser, fit, report):
    look(browser, 390, dark=True)
    browser.get(report.as_uri())
    shown = "document.querySelectorAll('#what-if-bars [data-row]:not([hidden]) .name')"
    order = f"return [...{shown}].map((name) => name.innerText.trim())"
    assert [one.split()[-1] for one in browser.execute_script(order)][:3] == ["x1", "x2", "x3"]
    assert not any("<b>B</b>" in one for one in browser.execute_script(order))
    browser.find_element(By.CSS_SELECTOR, "#what-if-bars .fold").click()
    assert any("<b>B</b>" in one for one in browser.execute_script(order))
    set_to = (
        "const field = document.getElementById(arguments[0]); field.value = arguments[1];"
        "for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind))"
    )
    browser.execute_script(set_to, "what-if-sort", "lower")
    assert browser.execute_script(order)[0] == fit.table["lower"].idxmax()
    browser.execute_script(set_to, "what-if-class", "weak")
    assert sorted(browser.execute_script(order)) == fit.selected("weak")
    browser.execute_script(set_to, "what-if-class", "")
    browser.execute_script(set_to, "what-if-filter", "x3")
    assert browser.execute_script(order) == ["x3"]
    assert violations(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert not browser.find_elements(By.CSS_SELECTOR, "#what-if-bars img, #what-if-bars b")


def test_a_report_without_javascript_is_what_it_was(browser, fit, report):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(report.as_uri())
        assert not browser.find_element(By.ID, "what-if-part").is_displayed()
        assert browser.find_element(By.CSS_SELECTOR, "#relevance svg").is_displayed()
        assert "x2" in browser.find_element(By.CSS_SELECTOR, "#relevance table").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
