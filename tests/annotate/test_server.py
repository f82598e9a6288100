"""The server: what it answers, and whom it refuses."""

import pytest

testclient = pytest.importorskip("starlette.testclient", reason="Starlette and httpx are not installed")

from crfkit.annotate.server import application, listening_socket, new_token  # noqa: E402
from crfkit.annotate.tag_set import TagSet  # noqa: E402
from crfkit.exceptions import InputError  # noqa: E402

TOKEN, PORT = "t0ken", 4242
HERE = f"http://127.0.0.1:{PORT}"
OWN = {"Origin": HERE}


@pytest.fixture
def client(new_session):
    """Return a function that starts a client of a new session."""
    entered = []

    def start(**settings):
        session = new_session(**settings)
        found = testclient.TestClient(application(session, TOKEN, PORT), base_url=HERE)
        found.session = session
        found.__enter__()
        entered.append(found)
        return found

    yield start
    for one in entered:
        one.__exit__(None, None, None)


def answer(client, **changes):
    now = client.get(f"/{TOKEN}/state").json()["sentence"]
    content = {"sentence": now["number"], "spans": [[0, 1, "PER"]], "unknown": []} | changes
    return client.post(f"/{TOKEN}/answer", json=content, headers=OWN)


def test_a_round(client):
    client = client()
    state = client.get(f"/{TOKEN}/state").json()
    assert [label["name"] for label in state["labels"]] == ["PER", "LOC"]
    assert [label["key"] for label in state["labels"]] == ["1", "2"]
    assert state["progress"]["done"] == 0
    assert len(state["sentence"]["rows"]) == 4
    after = answer(client, unknown=[3]).json()
    assert after["progress"]["done"] == 1
    assert after["sentence"]["number"] != state["sentence"]["number"]
    assert client.session.store.answers[0].labels == ["B-PER", "O", "O", None]
    exported = client.get(f"/{TOKEN}/export")
    assert exported.headers["content-disposition"].startswith("attachment")
    assert exported.text.splitlines()[3].endswith("NNP\t_")
    undone = client.post(f"/{TOKEN}/undo", json={}, headers=OWN).json()
    assert undone["sentence"]["number"] == state["sentence"]["number"]
    assert undone["sentence"]["spans"] == [[0, 1, "PER"]]
    assert undone["sentence"]["unknown"] == [3]
    assert client.post(f"/{TOKEN}/order", json={"order": "token"}, headers=OWN).json()["order"] == "token"


def test_it_learns_in_the_background(client):
    client = client(every=3)
    for _ in range(8):
        assert answer(client).status_code == 200
    for _ in range(1000):
        state = client.get(f"/{TOKEN}/state").json()
        if state["progress"]["fitted_on"] and not state["progress"]["fitting"]:
            break
    assert state["progress"]["has_model"]
    assert state["progress"]["failure"] == ""


PAGES = ["", "base.css", "page.css", "colours.css", "page.js", "marks.js", "curve.js", "state", "export"]


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_a_strict_policy(client, page):
    found = client().get(f"/{TOKEN}/{page}")
    assert found.status_code == 200
    policy = found.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ("state", "export")])
def test_nothing_comes_from_elsewhere(client, page):
    text = client().get(f"/{TOKEN}/{page}").text.replace("http://www.w3.org/2000/svg", "")
    for link in ("http:", "https:", "//cdn", "@import", "url("):
        assert link not in text
    assert "style=" not in text
    assert "onclick" not in text
    assert "innerHTML" not in text  # data becomes text nodes only


@pytest.mark.parametrize(
    "path", ["/", "/state", "/wrong/state", "/t0keN/state", f"/{TOKEN}", f"/{TOKEN}x/state"]
)
def test_without_the_token(client, path):
    client = client()
    assert client.get(path).status_code == 404
    assert client.post(path, json={}, headers=OWN).status_code == 404


@pytest.mark.parametrize(
    "host",
    ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1.evil.example:{PORT}"],
)
def test_a_foreign_host(client, host):
    """DNS rebinding: a foreign name that resolves to this computer."""
    found = client().get(f"/{TOKEN}/state", headers={"Host": host})
    assert (found.status_code, found.text) == (403, "Host is not this server's")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:4242", "http://127.0.0.1:80", ""]
)
def test_a_foreign_origin(client, origin):
    client = client()
    for method, path in (("GET", "state"), ("POST", "undo")):
        found = client.request(method, f"/{TOKEN}/{path}", headers={"Origin": origin})
        assert (found.status_code, found.text) == (403, "Origin is not this server's")


def test_no_origin(client):
    """A browser sends it with every POST, so a request without it is from nowhere good."""
    client = client()
    assert client.get(f"/{TOKEN}/state").status_code == 200
    assert client.post(f"/{TOKEN}/undo", json={}).status_code == 403
    assert client.session.store.answers == []


def test_localhost_is_fine(client):
    name = f"localhost:{PORT}"
    headers = {"Host": name, "Origin": f"http://{name}"}
    assert client().post(f"/{TOKEN}/undo", json={}, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"sentence": "1"}, 400, "expected"),
        ({"sentence": True}, 400, "expected"),
        ({"sentence": 999}, 409, "labelled already"),
        ({"spans": [[0, 1]]}, 400, "expected spans"),
        ({"spans": [[0, 1, 7]]}, 400, "expected spans"),
        ({"spans": [[0, 9, "PER"]]}, 400, "4 tokens"),
        ({"spans": None}, 400, "expected"),
        ({"unknown": ["x"]}, 400, "unknown tokens"),
    ],
)
def test_wrong_answers(client, changes, status, message):
    client = client()
    found = answer(client, **changes)
    assert found.status_code == status
    assert message in found.json()["error"]
    assert client.session.store.answers == []


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("{", "application/json", "expected JSON"),
        ("[]", "application/json", "expected a JSON object"),
        ("{}", "text/plain", "application/json"),  # a form of another page can send this without asking
        ('"' + "x" * (1 << 20) + '"', "application/json", "at most"),
    ],
    ids=["cut off", "a list", "a form", "large"],
)
def test_wrong_content(client, body, kind, message):
    found = client().post(f"/{TOKEN}/answer", content=body, headers=OWN | {"Content-Type": kind})
    assert found.status_code == 400
    assert message in found.json()["error"]


def test_a_full_disk_is_told(client, monkeypatch):
    client = client()

    def full(answer):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(client.session.store, "append", full)
    found = answer(client)
    assert (found.status_code, found.json()["error"]) == (507, "No space left on device")


def test_scripts_in_tokens_and_labels(client):
    """They travel as JSON, which no browser reads as a page."""
    evil = "<script>alert(1)</script>"
    client = client(rows=[[(evil, "X"), ("b", "X")]] * 3, tags=TagSet((evil,), "IOB2"))
    found = client.get(f"/{TOKEN}/state")
    assert found.headers["content-type"] == "application/json"
    assert found.json()["sentence"]["rows"][0][0] == evil
    assert found.json()["labels"][0]["name"] == evil
    assert answer(client, spans=[[0, 1, evil]]).status_code == 200
    assert client.session.store.answers[0].labels == [f"B-{evil}", "O"]
    assert client.get(f"/{TOKEN}/export").headers["content-type"].startswith("text/plain")


def test_export_of_what_has_no_column_form(client):
    client = client(rows=[[("a\tb", "X"), ("b", "X")]] * 3)
    answer(client)
    found = client.get(f"/{TOKEN}/export")
    assert found.status_code == 400
    assert "error" in found.json()


def test_tokens_and_ports():
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 20
    with listening_socket(0) as first:
        first.listen()
        host, port = first.getsockname()
        assert host == "127.0.0.1"
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used"):
            listening_socket(port)
