"""One client of python-crfsuite or sklearn-crfsuite at work, unedited, in a process of its own.

    python client_work.py NAME COUNT FOLDER [--crfkit]

clients.py runs it. With ``--crfkit``, ``crfkit.compat.install()`` comes before everything else. Prints one
line of JSON: results (to be the same), numbers (probabilities, each with the number of labels it is about),
trained (results of a model that this process has trained itself), and the seconds that training and the same
work once more took.
"""

import json
import sys
import time

sys.path.pop(0)  # this folder: names in it must not hide packages

if "--crfkit" in sys.argv:
    import crfkit.compat

    crfkit.compat.install()

import pycrfsuite

from crfkit.datasets import addresses

NAME, COUNT, FOLDER = sys.argv[1], int(sys.argv[2]), sys.argv[3]
OWN = f"{FOLDER}/{NAME}-{'crfkit' if '--crfkit' in sys.argv else 'original'}"
SHARED = f"{FOLDER}/{NAME}-original"  # the model that the process without --crfkit has trained
found = {"results": [], "numbers": [], "trained": [], "training": 0.0}
recording = False


class Tagger(pycrfsuite.Tagger):
    """Notes the probability of each labelling, and of its first label."""

    def tag(self, xseq=None):
        labels = super().tag(xseq)
        if recording and labels:
            found["numbers"] += [(self.probability(labels), len(labels)), (self.marginal(labels[0], 0), 1)]
        return labels


pycrfsuite.Tagger = Tagger
TOKENS, LABELS = addresses(COUNT, countries=["US", "GB"], noise=0.3, random_state=5)
LINES = [" ".join(tokens) for tokens in TOKENS]
PAIRS = [list(zip(tokens, labels, strict=True)) for tokens, labels in zip(TOKENS, LABELS, strict=True)]
HALF = COUNT // 2  # to train on
TIMES = range(max(1, COUNT // 50))  # how often a page is read
THAI = [
    "สวัสดีครับ ผมชื่อสมชาย อยู่ที่กรุงเทพมหานคร",
    "วันนี้อากาศดีมาก เราไปเที่ยวทะเลกันเถอะ",
    "เขาทำงานที่ธนาคารแห่งประเทศไทย เมื่อวันที่ 3 มกราคม",
]
VIETNAMESE = [
    "Trường đại học Bách Khoa Hà Nội nằm ở quận Hai Bà Trưng",
    "Hôm nay trời đẹp, chúng tôi đi chơi ở Sài Gòn.",
]


def some(sentences):
    """Return COUNT / 10 texts, each of two of the sentences."""
    n = len(sentences)
    return [f"{sentences[i % n]} {sentences[i // n % n]}" for i in range(max(1, COUNT // 10))]


def learn(train):
    """Call train(path) with the path of this process's own model, and take the time."""
    began = time.perf_counter()
    train(OWN)
    found["training"] = time.perf_counter() - began


def tagging(work):
    """Return the work with the shared model; note what it gives with this process's own one."""
    models = {path: Tagger() for path in (OWN, SHARED)}
    for path, tagger in models.items():
        tagger.open(path)
    found["trained"] = [label for labels in work(models[OWN]) for label in labels]
    return lambda: work(models[SHARED])


def with_marginals(crf, items, work):
    """Return the work; note all probabilities that the estimator gives for the items."""
    for sequence in crf.predict_marginals(items):
        for position in sequence:
            found["numbers"] += [(position[label], 1) for label in sorted(position)]
    return work


class Parser:
    """A parser as parserator wants it: usaddress' way to use a tagger."""

    def tokens2features(self, tokens):
        return [
            {"token": token, "end": token[-2:], "length": len(token), "next": {"token": after}}
            for token, after in zip(tokens, [*tokens[1:], ""], strict=True)
        ]


def dicts_without_a_client():
    """Do as usaddress and parserator do: train on nested dicts, open the file once, tag text by text."""
    module, trainer = Parser(), pycrfsuite.Trainer(verbose=False, params={"c1": 0.1, "c2": 0.01})
    for pairs in PAIRS[:HALF]:
        tokens, labels = zip(*pairs, strict=True)
        trainer.append(module.tokens2features(tokens), labels)
    learn(trainer.train)
    return tagging(lambda tagger: [tagger.tag(module.tokens2features(tokens)) for tokens in TOKENS[HALF:]])


def strings_without_a_client():
    """Do as NLTK's CRFTagger does: lists of strings, also as an ItemSequence."""
    trainer = pycrfsuite.Trainer(verbose=False)
    items = [[[f"WORD_{t}", f"SUF_{t[-1:]}", f"TITLE_{t.istitle()}"] for t in tokens] for tokens in TOKENS]
    for item, labels in zip(items[:HALF], LABELS[:HALF], strict=True):
        trainer.append(pycrfsuite.ItemSequence(item), tuple(labels))
    learn(trainer.train)
    return tagging(lambda tagger: [tagger.tag(item) for item in items[HALF:]])


def usaddress():
    import usaddress

    return lambda: [usaddress.parse(line) for line in LINES]


def probablepeople():
    import probablepeople

    names = [" ".join(t for t, label in pairs if label[2:] in ("recipient", "company")) for pairs in PAIRS]
    return lambda: [probablepeople.parse(name) for name in names if name]


def parserator():
    from parserator.training import trainModel

    module = Parser()
    learn(lambda path: trainModel(zip(LINES[:HALF], PAIRS[:HALF], strict=True), module, path))
    return tagging(lambda tagger: [tagger.tag(module.tokens2features(tokens)) for tokens in TOKENS[HALF:]])


def nltk():
    import nltk
    from nltk.tag import CRFTagger

    nltk.data.path.append(FOLDER)
    tagger, shared = CRFTagger(), CRFTagger()
    learn(lambda path: tagger.train(PAIRS[:HALF], path))
    found["trained"] = [pair for sentence in tagger.tag_sents(TOKENS[HALF:]) for pair in sentence]
    shared.set_model_file(SHARED)
    return lambda: shared.tag_sents(TOKENS[HALF:])


def hazm():
    from hazm import SequenceTagger

    tagger, shared = SequenceTagger(), SequenceTagger()
    learn(lambda path: tagger.train(PAIRS[:HALF], 0.1, 0.1, 200, False, path, False))
    found["trained"] = [pair for sentence in tagger.tag_sents(TOKENS[HALF:]) for pair in sentence]
    shared.load_model(SHARED)
    return lambda: shared.tag_sents(TOKENS[HALF:])


def pythainlp_sentences():
    from pythainlp.tokenize import crfcut

    return lambda: [crfcut.segment(text) for text in some(THAI)]


def pythainlp_syllables():
    from pythainlp.tokenize import han_solo

    return lambda: [han_solo.segment(text) for text in some(THAI)]


def pythainlp_names():
    from pythainlp.tag.thainer import ThaiNameTagger

    tagger = ThaiNameTagger(version="1.5")
    return lambda: [tagger.get_ner(text, pos=False) for text in some(THAI)]


def ssg():
    import ssg

    return lambda: [ssg.syllable_tokenize(text) for text in some(THAI)]


def pyvi_words():
    from pyvi import ViTokenizer

    tokenizer, texts = ViTokenizer.ViTokenizer, some(VIETNAMESE)
    items = [tokenizer.sent2features(text.split(), False) for text in VIETNAMESE]
    return with_marginals(tokenizer.model, items, lambda: [ViTokenizer.tokenize(text) for text in texts])


def pyvi_tags():
    from pyvi import ViPosTagger, ViTokenizer

    tagger, texts = ViPosTagger.ViPosTagger, [ViTokenizer.tokenize(text) for text in some(VIETNAMESE)]
    items = [tagger.sent2features(text.split(), False) for text in VIETNAMESE]
    return with_marginals(tagger.model, items, lambda: [ViPosTagger.postagging(text) for text in texts])


def autopager():
    import autopager

    links = "".join(f'<li><a class="page-{i}" href="/list?page={i}">{i}</a></li>' for i in range(2, 9))
    page = f'<a href="/about">About</a><ul>{links}<li><a href="/list?page=2">Next</a></li></ul>'
    return lambda: [autopager.urls(page, baseurl="http://example.org/list") for _ in TIMES]


def formasaurus():
    from formasaurus.classifiers import FormFieldClassifier
    from lxml import html

    page = html.fromstring(
        '<form action="/login" method="POST">Name <input name="user" type="text"> Password <input name="pw" '
        'type="password"> <input type="checkbox" name="keep"> Keep <input type="submit" value="Go"></form>'
    )
    classifier = FormFieldClassifier.load()
    return lambda: [sorted(classifier.extract_forms(page)[0][1]["fields"].items()) for _ in TIMES]


def spacy_crfsuite():
    from spacy_crfsuite import CRFExtractor, CRFToken

    samples = [[CRFToken(token, "", label, {}, {}, None) for token, label in pairs] for pairs in PAIRS]
    extractor = CRFExtractor({"BILOU_flag": False})
    learn(lambda path: extractor.train(samples[:HALF]))
    items = [extractor._crf_tokens_to_features(sample) for sample in samples[HALF:]]
    found["trained"] = [label for item in items for label in extractor.ent_tagger.predict_single(item)]
    if "--crfkit" not in sys.argv:
        extractor.to_disk(SHARED)
    shared = CRFExtractor().from_disk(SHARED).ent_tagger  # with crfkit: a pickle of the original
    return with_marginals(shared, items, lambda: [list(shared.predict_single(item)) for item in items])


def sklearn_crfsuite_and_eli5():
    import eli5
    import sklearn_crfsuite
    from sklearn_crfsuite import metrics

    items = [[{"word": t, "end": t[-2:], "digits": t.isdigit()} for t in tokens] for tokens in TOKENS]
    own = sklearn_crfsuite.CRF(c2=0.1, max_iterations=80, model_filename=OWN)
    learn(lambda path: own.fit(items[:HALF], LABELS[:HALF]))
    found["trained"] = [label for labels in own.predict(items[HALF:]) for label in labels]
    crf = sklearn_crfsuite.CRF(model_filename=SHARED)
    work = with_marginals(crf, items[HALF:], lambda: list(map(list, crf.predict(items[HALF:]))))
    found["results"] = [[target.target for target in eli5.explain_weights(crf, top=3).targets]]
    found["results"] += [metrics.flat_accuracy_score(LABELS[HALF:], work())]
    return work


def main():
    """Do the work of the client twice: once to note what it gives, once to take the time."""
    global recording
    work = globals()[NAME]()
    recording = not found["numbers"]
    found["results"] += work()
    recording = False
    began = time.perf_counter()
    work()
    found["seconds"] = time.perf_counter() - began
    print(json.dumps(found, default=list))


main()
