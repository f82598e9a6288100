"""The files that people have: CoNLL-U, JSON lines, plain text, CSV with a sequence column."""

import json

import pytest

from crfkit.models.linear.crf import CRF

SENTENCES = [["Ann", "sees", "Bob"], ["Bob", "sleeps"], ["a", "dog", "sees", "Ann"]] * 10
TAGS = {"Ann": "NAME", "Bob": "NAME", "sees": "VERB", "sleeps": "VERB", "a": "DET", "dog": "NOUN"}


@pytest.fixture
def csv(tmp_path):
    lines = ["sid,word,tag"] + [f"{i},{word},{TAGS[word]}" for i, s in enumerate(SENTENCES) for word in s]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "a.csv"


def test_the_sequence_column_is_remembered_and_kept(run, csv, tmp_path):
    model, out = tmp_path / "m", tmp_path / "out.csv"
    ran = run.ok("train", csv, "-m", model, "--sequence-column", "sid")
    assert "csv (told by its name), 2 per row, labels in column 'tag'" in ran.err
    ran = run.ok("tag", model, csv, "-o", out)
    assert "true labels in column 'tag'" in ran.err
    rows = [line.split(",") for line in out.read_text().splitlines() if line]
    assert rows[0] == ["sid", "word", "tag", "predicted"]
    assert rows[1][:3] == ["0", "Ann", "NAME"]
    assert out.read_text().count("\n\n") == len(SENTENCES) - 1  # as many sequences as there were
    assert run.ok("eval", out).out.startswith(f"processed {sum(map(len, SENTENCES))} tokens")
    other = tmp_path / "b.csv"
    other.write_text("word\nAnn\nsees\n")
    run.fails(1, "there is no column 'sid': the columns are word", "tag", model, other)
    assert run.ok("tag", model, other, "--sequence-column", "none").out.splitlines()[0] == "word,predicted"


def test_no_header(run, csv, tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text(csv.read_text().split("\n", 1)[1].replace(",", ";"))
    model = tmp_path / "m"
    words = ["--separator", ";", "--no-header", "--sequence-column", "0"]
    ran = run.ok("train", plain, "-m", model, *words)
    assert "labels in column '2'" in ran.err
    tagged = run.ok("tag", model, plain, *words).out
    assert tagged.splitlines()[0].startswith("0;Ann;NAME;")


def test_commas_in_a_column_file(run, csv, tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text(csv.read_text())
    message = "the cells have commas: use --separator , and, if the first line is data, --no-header"
    run.fails(1, message, "train", plain, "-m", tmp_path / "m")
    run.ok("train", plain, "-m", tmp_path / "m", "--separator", ",", "--sequence-column", "sid")
    run.fails(2, "--no-header needs csv", "train", plain, "-m", tmp_path / "m", "--no-header")


def test_one_long_sequence_is_warned_of(run, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"w{i % 7} L{i % 2}\n" for i in range(600)))
    ran = run.ok("train", tmp_path / "a.txt", "-m", tmp_path / "m", "-q")
    assert "all 600 rows are one sequence; separate sequences with empty lines" in ran.err


def conllu(sentence):
    rows = [
        f"{i}\t{word}\t_\t{TAGS[word]}\t{TAGS[word][0]}\t_\t_\t_\t_\t_" for i, word in enumerate(sentence, 1)
    ]
    return "\n".join([f"# text = {' '.join(sentence)}", *rows, "", ""])


@pytest.mark.parametrize("column", ["upos", "xpos"])
def test_conllu(run, tmp_path, column):
    data, model = tmp_path / "a.conllu", tmp_path / "m"
    data.write_text("".join(map(conllu, SENTENCES)))
    run.ok("train", data, "-m", model, "--label-column", column)
    ran = run.ok("tag", model, data, "--eval")
    assert f"true labels in column '{column}'" in ran.err  # the model knows which column it was
    assert "accuracy: 100.00%" in ran.err
    assert ran.out == data.read_text()
    blind = tmp_path / "blind.conllu"
    blind.write_text(data.read_text().replace("\tNAME\tN\t", "\t_\t_\t"))
    labels = [line.split("\t") for line in run.ok("tag", model, blind).out.splitlines() if line[:1].isdigit()]
    assert labels[0][3 if column == "upos" else 4] in ("NAME", "N")
    run.fails(2, "cannot be written as conllu", "tag", model, data, "--nbest", 2)


def test_json_lines(run, tmp_path):
    data, model, out = tmp_path / "a.jsonl", tmp_path / "m", tmp_path / "out.jsonl"
    records = [{"id": i, "tokens": s, "tags": [TAGS[w] for w in s]} for i, s in enumerate(SENTENCES)]
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    run.ok("train", data, "-m", model)
    run.ok("tag", model, data, "-o", out)
    assert [json.loads(line)["predicted"] for line in out.read_text().splitlines()] == [
        record["tags"] for record in records
    ]
    assert "accuracy: 100.00%" in run.ok("eval", out).out
    assert run.ok("convert", data, tmp_path / "a.txt", "--to", "columns").code == 0
    assert (tmp_path / "a.txt").read_text().startswith("Ann\tNAME\nsees\tVERB\n")


def test_text_in_and_spans_out(run, tmp_path):
    data, model = tmp_path / "a.jsonl", tmp_path / "m"
    texts = [" ".join(sentence) + "." for sentence in SENTENCES]
    spans = [[[t.index(n), t.index(n) + 3, "PER"] for n in ("Ann", "Bob") if n in t] for t in texts]
    lines = [json.dumps({"text": t, "label": s}) for t, s in zip(texts, spans, strict=True)]
    data.write_text("\n".join(lines))
    run.ok("train", data, "-m", model, "-q")
    plain = tmp_path / "plain.txt"
    plain.write_text("Bob sees a dog.\n")
    ran = run.ok("tag", model, "--text", plain)  # the input behind the options
    (found,) = json.loads(ran.out)["predicted"]
    assert (found["start"], found["end"], found["label"], found["text"]) == (0, 3, "PER", "Bob")
    assert found["probability"] > 0.5
    assert "other tokens" not in ran.err
    crf = CRF.load(model)
    (span,) = crf.tag_text("Bob sees a dog.")
    assert (span.start, span.end, span.label, span.text) == (0, 3, "PER", "Bob")
    assert span.probability == pytest.approx(found["probability"], abs=1e-6)
    assert crf.tag_text(" ") == crf.tag_text("Bob", min_probability=1.0) == []
    (tmp_path / "tokens.txt").write_text("".join(f"{w} {TAGS[w]}\n" for s in SENTENCES[:3] for w in [*s]))
    run.ok("train", tmp_path / "tokens.txt", "-m", model, "-q")
    assert "the model was trained on other tokens" in run.ok("tag", model, "--text", plain).err
    assert run.ok("tag", model, "--text", plain, "-q").err == ""
    (tmp_path / "tokens.txt").write_text("".join(f"{w} x {TAGS[w]}\n" for s in SENTENCES[:3] for w in [*s]))
    run.ok("train", tmp_path / "tokens.txt", "-m", model, "-q")
    run.fails(1, "a text gives one column, its tokens, but the model takes 2", "tag", model, "--text", plain)


def test_spans_that_cut_tokens(run, tmp_path):
    data = tmp_path / "a.jsonl"
    data.write_text(
        json.dumps({"text": "Anna sees", "spans": [{"start": 0, "end": 3, "label": "PER"}]}) + "\n"
    )
    run.fails(
        1, "a.jsonl:1: the span PER [0, 3) 'Ann' cuts the token 'Anna'", "train", data, "-m", tmp_path / "m"
    )
    ran = run.ok("train", data, "-m", tmp_path / "m", "--snap")
    assert "1 spans were widened to whole tokens" in ran.err


def test_plain_text_with_a_model_of_a_table(run, csv, tmp_path):
    model = tmp_path / "m"
    run.ok("train", csv, "-m", model, "--sequence-column", "sid", "-q")
    text = tmp_path / "text.txt"
    text.write_text("Ann sleeps\n")
    assert "NAME" in run.ok("tag", model, text, "--text").out  # its column is called word, not token
