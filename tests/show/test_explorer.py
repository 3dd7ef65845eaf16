"""The explorer without a browser: who may ask, what is answered, when it ends."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import pytest
from explored import copies, privileged, regression

import relbounds as rb
from relbounds.show.explorer import answers as asking
from relbounds.show.explorer import server
from relbounds.show.explorer.answers import Answers, Lane, Superseded
from relbounds.show.explorer.code import python_code, r_code

pytest.importorskip("bottle")
pytest.importorskip("waitress")


@pytest.fixture(scope="module")
def fit():
    simulated = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    return rb.relbounds(simulated.formula, simulated.data, C=1.0, delta=0.01, control="fdr")


@pytest.fixture(scope="module")
def page(fit):
    with fit.explorer(open_browser=False, block=False) as page:
        yield page


def send(page, path="", method="GET", body=None, token=None, **headers):
    parts = urlsplit(page.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    given = {"Host": parts.netloc, **{name.replace("_", "-"): value for name, value in headers.items()}}
    start = parts.path if token is None else token
    connection.request(method, start + path, body if body is None else json.dumps(body), given)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def ask(page, what, **body):
    answer, text = send(page, what, "POST", {"page": "test", **body}, Content_Type="application/json")
    assert answer.status == 200, text
    return json.loads(text)


def test_who_has_no_token_gets_nothing(page):
    for token in (
        "/",
        "/x/",
        "/x/explorer.js",
        "/x/../",
        "/%2e%2e/etc/passwd",
        page.url.rsplit("/", 2)[0][-4:],
    ):
        answer, text = send(page, token=token)
        assert answer.status == 403 and "not known" in text
    assert send(page, token="/x/bounds", method="POST", body={})[0].status == 403
    assert len(urlsplit(page.url).path) > 30


def test_another_name_for_this_machine_is_refused(page):
    answer, _ = send(page, Host="evil.example:80")
    assert answer.status == 403
    assert send(page, Host=urlsplit(page.url).netloc.replace("127.0.0.1", "localhost"))[0].status == 200


def test_other_sites_cannot_ask(page):
    asked = {"page": "x", "number": 1, "wishes": []}
    simple = send(page, "bounds", "POST", asked, Content_Type="text/plain")
    foreign = send(
        page, "bounds", "POST", asked, Content_Type="application/json", Origin="http://evil.example"
    )
    assert simple[0].status == foreign[0].status == 403
    assert "Access-Control-Allow-Origin" not in dict(foreign[0].getheaders())


def test_it_serves_this_fit_and_nothing_else(page):
    answer, text = send(page)
    headers = dict(answer.getheaders())
    assert "default-src 'none'" in headers["Content-Security-Policy"] and "unsafe" not in str(headers)
    assert headers["Referrer-Policy"] == "no-referrer" and "waitress" not in str(headers).lower()
    assert "http://" not in text and "https://" not in text
    for name in ("explorer.js", "bars.js", "explorer.css"):
        assert send(page, name)[0].status == 200
    for name in ("report.css", "..%2freport.css", "__init__.py", "nothing/else"):
        assert send(page, name)[0].status in (403, 404)


def test_answers_are_what_constrain_says(fit, page):
    upper = round(float(fit.table["upper"]["x2"]) / 2, 3)
    found = ask(page, "bounds", number=1, wishes=[[1, None, upper]])["answer"]
    what_if = fit.constrain({"x2": (0, upper)})
    assert found["rows"] == [
        pytest.approx(pair) for pair in what_if.table[["lower", "upper"]].to_numpy().tolist()
    ]
    assert found["certificate"] < 1e-6
    classes = ask(page, "classes", number=1, wishes=[[1, 0, 0]])["answer"]
    assert classes["relevance"] == fit.constrain({"x2": "off"}).table["relevance"].tolist()
    assert classes["relevance"][2] == "strong" and classes["python"] == 'fit.constrain({"x2": "off"})'
    # released, it could go as far as in the fit
    assert classes["reach"]["1"] == pytest.approx(fit.table.loc["x2", ["lower", "upper"]].tolist())
    cheap = ask(page, "cheapest", number=1, wishes=[[2, 0, 0]], costs=[[0, 5.0]])["answer"]
    assert cheap["terms"] == ["x1", "x2"] and cheap["cost"] == 6.0 and cheap["exact"]
    what_if = fit.constrain({"x2": "off"})
    assert ask(page, "export", number=1, wishes=[[1, 0, 0]], kind="csv")["answer"] == what_if.to_csv()
    assert ask(page, "export", number=2, wishes=[[1, 0, 0]], kind="latex")["answer"] == what_if.to_latex()


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ([[0, 0, 0]], "No equivalent model has 'x1' = 0"),
        ([[1, 0, 0], [2, 0, 0]], "'x3' = 0. Given x2 = 0"),
        ([[2, 0, 0], [1, 0, 0]], "'x2' = 0. Given x3 = 0"),
        ([[1, -1, None]], "negative"),
        ([[1, 0.2, 0.1]], "swap them"),
        ([[1, "a", None]], "not a number"),
        ([[9, 0, 0]], "There is no row 9"),
        ([["x1", 0, 0]], "There is no row"),
        ([[1, 0, 0], [1, 0, 0]], "twice"),
        ([[1, 0]], "must be [row, least, most]"),
        ("x", "must be a list"),
        (None, "must be a list"),
    ],
)
def test_a_wrong_constraint_gets_a_clear_message(page, wishes, said):
    found = ask(page, "bounds", number=1, wishes=wishes)
    assert said in found["refused"]


def test_a_body_that_is_no_question(page):
    answer, _ = send(page, "bounds", "POST", [1], Content_Type="application/json")
    assert answer.status == 400
    answer, _ = send(page, "bounds", "POST", {"number": "x"}, Content_Type="application/json")
    assert answer.status == 400


def test_while_one_is_solved_the_last_one_wins(fit, monkeypatch):
    begun, go, solved = threading.Event(), threading.Event(), []
    slow = asking.constrained_bounds

    def held_up(fitted, wishes, **options):
        solved.append(wishes)
        begun.set()
        go.wait(10)
        return slow(fitted, wishes, **options)

    monkeypatch.setattr(asking, "constrained_bounds", held_up)
    with fit.explorer(open_browser=False, block=False) as page:
        replies = {}

        def request(number):
            replies[number] = ask(page, "bounds", number=number, wishes=[[1, None, number / 1000]])

        threads = [threading.Thread(target=request, args=(n,)) for n in (1, 2, 3)]
        threads[0].start()
        assert begun.wait(10)
        for thread in threads[1:]:
            thread.start()
            time.sleep(0.3)
        go.set()
        for thread in threads:
            thread.join(20)
    assert "answer" in replies[1] and replies[2] == {"superseded": True} and "answer" in replies[3]
    assert [one["x2"][1] for one in solved] == [0.001, 0.003]


def test_pages_do_not_supersede_each_other():
    lane = Lane()
    assert lane.run("one bounds", 9, lambda: 1) == 1
    assert lane.run("two bounds", 1, lambda: 2) == 2
    assert lane.run("one classes", 1, lambda: 3) == 3
    with pytest.raises(Superseded):
        lane.run("one bounds", 8, lambda: 4)


def test_what_was_asked_before_is_not_solved_again(fit, monkeypatch):
    answers = Answers(fit._fitted)
    first = answers.bounds([[1, 0, 0]])
    monkeypatch.setattr(asking, "constrained_bounds", None)
    assert answers.bounds([[1, 0, 0]]) == first
    assert answers.bounds([])["rows"][1] == fit.table.loc["x2", ["lower", "upper"]].tolist()


def test_a_port_in_use(fit):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(rb.OptionError, match=r"port=\d+ is in use by another program"):
            fit.explorer(port=taken.getsockname()[1], open_browser=False, block=False)
    for bad in (0, 70000, "80"):
        with pytest.raises(rb.OptionError, match="port"):
            fit.explorer(port=bad, open_browser=False, block=False)


def test_it_listens_on_the_loopback_address_only(page):
    assert page._server.socket.getsockname()[0] == "127.0.0.1"


def test_it_ends_after_its_page_is_closed(fit, monkeypatch):
    monkeypatch.setattr(server, "GOODBYE", 0.3)
    with fit.explorer(open_browser=False, block=False, idle=60) as page:
        ask(page, "open")
        send(page, "open", "POST", {"page": "second"}, Content_Type="application/json")
        ask(page, "closed")
        assert page.wait(1.0)  # another page is still open
        send(page, "closed", "POST", {"page": "second"}, Content_Type="application/json")
        assert not page.wait(10)
        with pytest.raises(OSError):
            send(page)
    page.stop()
    assert "ended" in repr(page) and "ended" in page._repr_html_()


def test_it_ends_when_no_page_is_heard_of(fit):
    with fit.explorer(open_browser=False, block=False, idle=0.5) as page:
        assert page.wait(1.0)  # nobody has come yet
        ask(page, "open")
        assert not page.wait(10)


def test_without_a_browser_the_address_is_printed(fit, monkeypatch, capsys):
    monkeypatch.setattr(server.webbrowser, "open", lambda url: False)
    with fit.explorer(block=False) as page:
        assert page.url in capsys.readouterr().out
    threading.Timer(0.5, lambda: made[0].stop()).start()
    made = []
    first = server.Explorer.__init__
    monkeypatch.setattr(
        server.Explorer, "__init__", lambda self, *a, **k: (made.append(self), first(self, *a, **k))[1]
    )
    assert not fit.explorer(open_browser=False, block=True).running
    assert "Ctrl-C" in capsys.readouterr().out


def test_a_notebook_shows_it_inline(fit, monkeypatch, capsys):
    monkeypatch.setattr(server, "_in_notebook", lambda: True)
    with fit.explorer() as page:
        assert f'<iframe src="{page.url}"' in page._repr_html_()
        assert (
            "frame-ancestors http://localhost:*"
            in dict(send(page)[0].getheaders())["Content-Security-Policy"]
        )
    assert capsys.readouterr().out == ""


def test_a_fit_without_bounds_has_no_explorer():
    simulated = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    plain = rb.relbounds(simulated.formula, simulated.data, C=1.0, bounds=False)
    with pytest.raises(rb.OptionError, match="no equivalent models"):
        plain.explorer(open_browser=False, block=False)


def test_a_missing_extra_says_what_to_install(fit, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "waitress", None)
    with pytest.raises(rb.errors.MissingExtraError, match=r"relbounds\[explorer\]"):
        fit.explorer(open_browser=False, block=False)


def test_code_gives_the_same_what_if(fit):
    wishes = {"x2": (0.0, 0.05), "x3": (0.1, None)}
    found = eval(python_code(wishes), {"fit": fit})
    assert found.table["constraint"].tolist() == ["", "<= 0.05", ">= 0.1", ""]
    nasty = {"a'b\"c\\": (0.0, 0.0)}
    assert eval(python_code(nasty).removeprefix("fit.constrain(")[:-1]) == {"a'b\"c\\": "off"}
    assert (
        r_code({"a b`": (0.0, 0.1), "if": (0.2, 0.2)}) == "constrain(fit, `a b\\`` = c(0, 0.1), `if` = 0.2)"
    )


def test_two_lanes_at_once_say_what_one_says(fit):
    upper = float(fit.table["upper"]["x2"])
    asked = [[[1, None, round(share * upper, 3)]] for share in (0.8, 0.6, 0.4, 0.2)]
    alone = Answers(fit._fitted)
    expected = [(alone.bounds(one)["rows"], alone.classes(one)["relevance"]) for one in asked]
    both, found = Answers(fit._fitted), {}
    work = {
        "bounds": lambda: [both.bounds(one)["rows"] for one in asked],
        "classes": lambda: [both.classes(one)["relevance"] for one in reversed(asked)][::-1],
    }
    threads = [
        threading.Thread(target=lambda name=name, do=do: found.update({name: do()}))
        for name, do in work.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert list(zip(found["bounds"], found["classes"], strict=True)) == expected


@pytest.mark.parametrize("make", [regression, lambda: privileged("slack"), lambda: privileged("teacher")])
def test_every_kind_of_linear_fit_has_a_page(make):
    made = make()
    answers = Answers(made._fitted)
    start = json.loads(json.dumps(answers.start(), allow_nan=False))
    assert [row["label"] for row in start["rows"]] == made.table.index.tolist()
    movable = [row["row"] for row in start["rows"] if row["movable"]]
    assert movable and all(i < len(made._fitted.spec.asked) for i in movable)
    weak = next(row for row in start["rows"] if row["movable"] and row["lower"] < 1e-6)
    found = json.loads(json.dumps(answers.bounds([[weak["row"], 0, 0]]), allow_nan=False))
    assert found["rows"][weak["row"]] == [0.0, 0.0] and len(found["rows"]) == len(made.table)


def test_a_what_if_is_where_a_page_starts():
    fit = copies().constrain({"x2": "off"})
    start = Answers(fit._fitted).start()
    assert start["rows"][1]["upper"] == 0.0 and start["title"] == "Relevance bounds under constraints"
