"""A stream that returns a few bytes at a time, as pipes and sockets may."""

import io


class Trickle(io.RawIOBase):
    """A stream that returns n bytes at a time."""

    def __init__(self, content: bytes, n: int = 1) -> None:
        self.file, self.n = io.BytesIO(content), n

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        piece = self.file.read(min(self.n, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)
