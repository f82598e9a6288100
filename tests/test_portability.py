"""Code for other C++ libraries than the one here, compared with what it stands in for."""

import shutil
import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parent.parent / "native"
COMPARISON = r"""
#define CRFKIT_NO_FROM_CHARS
#include "base/read_double.h"
#include <cstdio>
#include <cstring>
#include <random>
int main() {
  const char* pieces[] = {"0", "1", "9", "12345678901234567890", ".", "e", "E", "-", "x", "X", "a", "F", "p",
                          "308", "-308", "400", "-400", "inf", "infinity", "nan", "INF", " ", "00", "_",
                          "5e-324", "1e+", "p+7", "+1"};
  std::mt19937_64 random(1);
  long numbers = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (auto left = random() % 5; left > 0; --left) text += pieces[random() % std::size(pieces)];
    const char *begin = text.data(), *end = begin + text.size();
    for (auto format : {std::chars_format::general, std::chars_format::hex}) {
      double expected = 7, found = 7;
      const auto a = std::from_chars(begin, end, expected, format);
      const auto b = crfkit::read_double(begin, end, found, format);
      const bool both_nan = expected != expected && found != found;
      const bool same = both_nan || std::memcmp(&expected, &found, sizeof found) == 0;
      if (a.ec != b.ec || a.ptr != b.ptr || !same) std::printf("%s: %g, not %g\n", begin, found, expected);
      numbers += a.ec == std::errc();
    }
  }
  return numbers > 100000 ? 0 : 1;
}
"""


def test_reading_doubles_without_from_chars(tmp_path):
    compiler = next(filter(None, map(shutil.which, ("c++", "g++"))), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    (tmp_path / "compare.cpp").write_text(COMPARISON, encoding="utf-8")
    command = [compiler, "-std=c++20", "-O1", f"-I{NATIVE}", "compare.cpp", "-o", "compare"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "deleted function" in built.stderr:
        pytest.skip("this C++ library has no from_chars for doubles to compare with")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([tmp_path / "compare"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
