"""The page template: contents appear once, and nothing is loaded from the network."""

from crfkit.io.page import column_head, framed


def test_a_page():
    page = framed("A & {b}", "<table>{x} %s</table>", style=".own { color: red; }", script="own();")
    assert page.count("A &amp; {b}") == 2  # title and head
    assert "<table>{x} %s</table>" in page
    assert page.index("color-scheme") < page.index(".own { color: red; }") < page.index("</style>")
    assert page.index("aria-sort", page.index("<script>")) < page.index("own();") < page.index("</script>")
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<script>") == page.count("<style>") == 1


def test_heads():
    assert column_head("a<b") == '<th scope="col"><button type="button">a&lt;b</button></th>'
    assert column_head("n", number=True).startswith('<th class="n" scope="col">')
