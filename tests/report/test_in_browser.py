"""The report in a real browser: filters, search, order, and why a word has its label; also by keyboard."""

import shutil

import pytest

from crfkit import CRF

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium was found: apt-get install chromium")

BAD = "</script><script>alert(1)</script>"
WORDS = [["Ann", "saw", "Rome"], [BAD, "saw", "Ann"], ["Rome", "saw", BAD]] * 4
LABELS = [["B-PER", "O", "B-LOC"], [f"B-{BAD}", "O", "B-PER"], ["B-LOC", "O", f"B-{BAD}"]] * 4
OTHER = [["Ann", "saw", "Bob"], ["Rome", "Rome"], ["saw", BAD, "Ann"]]
# One missed; two that should be one, of another type; one invented.
TRUE = [["B-PER", "O", "O"], ["B-PER", "I-PER"], ["O", "O", "B-PER"]]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    X, others = ([[{"word": word} for word in words] for words in some] for some in (WORDS, OTHER))
    CRF(c2=0.1, n_jobs=1).fit(X, LABELS).report(others, TRUE, path, resamples=50)
    return path.as_uri()


@pytest.fixture(scope="module")
def page(address):
    """The page on a dark phone; at the end, whatever it has complained about or asked the network for."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        trouble = []
        page.set_default_timeout(20_000)
        for event in ("console", "pageerror", "dialog", "request"):
            page.on(event, lambda what: trouble.append(what))
        page.goto(address)
        yield page
        assert [getattr(one, "url", one) for one in trouble] == [address]  # itself, and nothing else
        browser.close()


def shown(page):
    """Return the numbers of the sequences that are shown, in their order."""
    return [int(one.get_attribute("data-i")) for one in page.locator("#sentences article:visible").all()]


def test_why(page):
    assert page.evaluate("document.documentElement.scrollWidth") == 390  # nothing sticks out on a phone
    word = page.locator("#sentences article[data-i='3'] [data-t='1']")
    word.click()
    box = page.locator(".why")
    assert box.locator("h4").text_content() == f"{BAD}: B-{BAD}, not O"
    assert f"for B-{BAD}" in box.text_content()
    assert f"word:{BAD}" in box.text_content()
    assert "as predicted" in box.text_content()
    page.locator("#sentences article[data-i='2'] [data-t='0']").click()
    assert box.count() == 1  # one at a time
    box.locator("button").click()
    assert box.count() == 0


def test_why_by_keyboard(page):
    page.locator("#sentences article[data-i='1'] [data-t='0']").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.locator(".why h4").text_content().startswith("Bob: ")
    page.keyboard.press("Enter")
    assert page.locator(".why").count() == 0


def test_filters_search_and_order(page):
    every = shown(page)
    assert len(every) >= 2
    page.locator("select[name=order]").select_option("i")
    assert shown(page) == sorted(every)
    page.locator("input[name=text]").fill("ROME")
    assert shown(page) == [2]
    assert "1 of" in page.locator("form.kinds output").text_content()
    page.locator("input[name=text]").fill("nothing like that")
    assert shown(page) == []
    assert page.locator("#errs .none").is_visible()
    page.locator("form.kinds button[type=reset]").click()
    page.wait_for_function("document.querySelectorAll('#sentences article:not([hidden])').length > 1")
    page.locator("input[value=invented]").check()
    assert 3 in shown(page)
    assert 2 not in shown(page)
    page.locator("th button").first.click()  # a table is sorted
    assert page.locator("th[aria-sort]").count() == 1
    page.locator("form.kinds button[type=reset]").click()


def test_no_barriers(page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page.locator("#sentences [data-t]").first.click()
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
