"""An HTML page taken apart by a parser: tags, attributes, text, what it would load."""

from html.parser import HTMLParser

VOID = {"meta", "input", "img", "br", "hr", "link"}
LOADS = {"src", "href", "action", "poster", "data", "srcset", "xlink:href"}


class Page(HTMLParser):
    """The parts of a page; raises if its tags are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self.data = [], [], "", []
        self.open = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words += data
        elif self.open[-1] == "script":
            self.data.append(data)

    @property
    def loads(self):
        """What the page would fetch, or link to, outside itself."""
        places = [value or "" for name, value in self.attributes if name in LOADS]
        return [place for place in places if not place.startswith(("#", "data:"))]
