"""The page in a real browser: Chromium, driven by Playwright."""

import json
import shutil
import sys
import threading

import pytest
from annotate_process import annotating, ask, interrupted

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from crfkit.annotate.server import listening_socket, new_token, server  # noqa: E402
from crfkit.annotate.tag_set import TagSet  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium was found: apt-get install chromium"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to the process"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def new_page(browser):
    """Return a function that opens an address; what goes wrong in the page is in ``page.trouble``."""
    contexts = []

    def make(address, **settings):
        contexts.append(browser.new_context(**settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.trouble = []
        page.on("console", lambda message: page.trouble.append(message.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.on("dialog", lambda dialog: page.trouble.append(dialog.message))
        page.goto(address)
        page.locator(".token").first.wait_for()
        return page

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def serving(new_session):
    """Return a function that serves sentences in a thread of this process; it returns the address."""
    stops = []

    def start(rows, types):
        session = new_session(
            rows=[[(word, "X") for word in words] for words in rows], tags=TagSet(types, "IOB2")
        )
        listening, token, ready = listening_socket(0), new_token(), threading.Event()
        running = server(session, listening, token, ready.set)
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        stops.append((running, thread, listening))
        assert ready.wait(30)
        return f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/", session

    yield start
    for running, thread, listening in stops:
        running.should_exit = True
        thread.join(30)
        listening.close()


def written(folder, rows):
    path = folder / "data.txt"
    path.write_text("".join("\n".join(sentence) + "\n\n" for sentence in rows), encoding="utf-8")
    return path


def labels_in(path):
    """Return the labels of the answers in a file, as they were written."""
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [entry["labels"] for entry in entries if "labels" in entry]


def wait_for(page, done):
    page.get_by_text(f"{done} labelled,").wait_for()


SENTENCES = [
    (name, last, verb, "in", town)
    for name, last in (("Ada", "Lovelace"), ("Alan", "Turing"), ("Grace", "Hopper"))
    for verb in ("slept", "sang", "ran")
    for town in ("Rome", "Oslo")
]


def label_by_keys(page):
    """Mark the first two tokens as PER and the last as LOC, without the mouse, whatever was proposed."""
    for keys in ("Home", "Shift+End", "0", "Home", "Shift+ArrowRight", "1", "End", "2", "Enter"):
        page.keyboard.press(keys)


def test_ten_sentences_by_keyboard_then_kill_9_then_on(tmp_path, new_page):
    data = written(tmp_path, SENTENCES)
    answers = tmp_path / "data.txt.annotations.jsonl"
    expected = ["B-PER", "I-PER", "O", "O", "B-LOC"]
    with annotating(data, "--labels", "PER,LOC", "--every", "4") as (process, address):
        page = new_page(address)
        for n in range(10):
            label_by_keys(page)
            wait_for(page, n + 1)
        process.kill()
        process.wait(30)
        assert labels_in(answers) == [expected] * 10
        page.keyboard.press("Enter")
        page.get_by_role("alert").get_by_text("The server does not answer").wait_for()
    with annotating(data, "--labels", "PER,LOC", "--every", "4") as (process, address):
        page = new_page(address)
        wait_for(page, 10)
        assert ask(address, "state")["sentence"]["proposed"] == expected  # learnt from the ten
        page.keyboard.press("Enter")  # the proposal is right
        wait_for(page, 11)
        page.keyboard.press("z")  # no change to undo: the sentence before comes back
        wait_for(page, 10)
        page.keyboard.press("End")
        page.keyboard.press("u")
        page.keyboard.press("Enter")
        wait_for(page, 11)
        assert page.trouble == []
        code, errors = interrupted(process)
    assert code == 0
    assert "11 labelled sentences" in errors
    assert labels_in(answers)[10:] == [expected, [*expected[:4], None]]


def test_mouse_alone(serving, new_page):
    address, session = serving(SENTENCES, ("PER", "LOC"))
    page = new_page(address)
    boxes = [token.bounding_box() for token in page.locator(".token").all()]
    page.mouse.move(boxes[0]["x"] + 3, boxes[0]["y"] + 8)
    page.mouse.down()
    page.mouse.move(boxes[1]["x"] + 3, boxes[1]["y"] + 8, steps=4)
    page.mouse.up()
    page.get_by_role("button", name="PER").click()
    page.locator(".token").nth(4).click()
    page.get_by_role("button", name="LOC").click()
    page.locator(".token").nth(3).click()
    page.get_by_role("button", name="LOC").click()
    page.get_by_role("button", name="Undo").click()  # of the change, not of a sentence
    page.get_by_role("button", name="Unknown").click()
    page.get_by_role("button", name="Accept").click()
    wait_for(page, 1)
    with page.expect_response("**/order"):
        page.get_by_label("Order", exact=True).select_option("random")
    page.get_by_role("button", name="Help").click()
    page.get_by_role("button", name="Close").click()
    assert page.trouble == []
    assert session.pool.order == "random"
    assert [one.labels for one in session.store.answers] == [["B-PER", "I-PER", "O", None, "B-LOC"]]


def test_scripts_in_tokens_and_labels_are_text(serving, new_page):
    evil, image = "<script>alert(1)</script>", "<img/src=x/onerror=alert(2)>"
    address, _ = serving([(evil, image, "&amp;")] * 3, (evil, image))
    page = new_page(address)
    page.keyboard.press("1")
    page.locator(".span b", has_text=evil).wait_for()
    assert page.locator(".token").all_inner_texts() == [evil, image, "&amp;"]
    assert page.locator("#labels button").all_inner_texts() == [f"{evil} 1", f"{image} 2"]
    assert page.locator("#sentence img, #labels img, main script").count() == 0
    page.keyboard.press("Enter")
    wait_for(page, 1)
    assert page.trouble == []


def test_accessible_at_phone_width(serving, new_page):
    """axe-core finds no fault in contrast, names and roles; nothing is wider than the screen."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    types = ("PER", "LOC", "ORG", "MISC", "NP", "VP", "PP", "ADVP", "SBAR", "ADJP", "PRT", "CONJP")
    address, _ = serving([SENTENCES[0] * 3] * 3, types)
    for scheme in ("light", "dark"):
        page = new_page(address, viewport={"width": 390, "height": 800}, color_scheme=scheme)
        for key in "123456789ab":
            page.keyboard.press(key)
            page.keyboard.press("ArrowRight")
        page.keyboard.press("u")
        page.keyboard.press("Home")
        page.keyboard.press("Shift+ArrowRight")
        assert [one["id"] for one in axe.Axe().run(page).response["violations"]] == []
        page.keyboard.press("?")
        assert [one["id"] for one in axe.Axe().run(page).response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") == 390
