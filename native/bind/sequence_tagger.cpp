// A tagger with a current sequence, as python-crfsuite has it: tag(xseq) and set(xseq) choose it, and
// marginal and probability ask about it. Each thread has a current sequence of its own; a thread that has set
// none sees the last one that any thread has set.
#include <nanobind/stl/string.h>

#include <memory>
#include <utility>
#include <vector>

#include "tagged.h"

namespace crfkit {
namespace {

// Raises the error that is both a ValueError and a RuntimeError.
[[noreturn]] void raise_tagger_error(const std::string& message) {
  const nb::object type = nb::module_::import_("crfkit.compat.pycrfsuite.errors").attr("TaggerError");
  PyErr_SetString(type.ptr(), message.c_str());
  throw nb::python_error();
}

class SequenceTagger {
 public:
  void open(const nb::object& content, const std::string& name) {
    auto opened = open_model(content, name);
    close();
    model_ = std::move(opened);
    key_ = std::make_shared<int>();
  }
  void close() {
    model_.reset();
    key_.reset();
    last_.reset();
  }
  bool is_open() const { return model_ != nullptr; }

  nb::object labels() const { return model().label_list(); }

  void set(nb::handle items) { score(items); }

  nb::object tag(nb::handle items) {
    const std::shared_ptr<ScoredSequence> sequence = items.is_none() ? current() : score(items);
    return answering([&] {
      const std::shared_ptr<OpenModel> model = model_;
      const Borrowed scratch(model->tagger().pool());
      return labels_of(*model, sequence->scores, scratch.get());
    });
  }

  double probability(nb::handle labels) {
    const std::shared_ptr<ScoredSequence> sequence = current();
    const std::shared_ptr<OpenModel> model = model_;
    const auto T = static_cast<size_t>(sequence->scores.length);
    std::vector<int32_t> ids;
    for_each(labels.ptr(), [&](PyObject* label) { ids.push_back(T == 0 ? 0 : label_id(label)); });
    if (T == 0) return 0.0;
    if (ids.size() != T) {
      raise("InputError", "the current sequence has " + std::to_string(T) + " items, but yseq has " +
                              std::to_string(ids.size()) + " labels");
    }
    return answering([&] { return probability_of(*model, *sequence, ids.data()); });
  }

  nb::list marginals() const {
    const std::shared_ptr<ScoredSequence> sequence = current();
    return answering([&] { return marginal_dicts(*model_, sequence.get()); });
  }

  double marginal(nb::handle label, Py_ssize_t position) {
    const std::shared_ptr<ScoredSequence> sequence = current();
    const std::shared_ptr<OpenModel> model = model_;
    const auto T = static_cast<Py_ssize_t>(sequence->scores.length);
    if (T == 0) return 0.0;
    if (position < 0 || position >= T) {
      raise("InputError", "the current sequence has the positions 0.." + std::to_string(T - 1) + ", not " +
                              std::to_string(position));
    }
    const auto id = static_cast<size_t>(label_id(label.ptr()));
    return answering([&] {
      return marginals_of(*model,
                          sequence.get())[static_cast<size_t>(position) * model->labels().size() + id];
    });
  }

 private:
  using Own = std::pair<std::weak_ptr<int>, std::shared_ptr<ScoredSequence>>;

  const OpenModel& model() const {
    if (model_ == nullptr) raise_tagger_error("the tagger is not open: call open(path) first");
    return *model_;
  }

  // The sequences of this thread, by the key of the tagger. They have no Python objects, because a thread
  // that ends destroys them without the GIL.
  static std::vector<Own>& own() {
    thread_local std::vector<Own> sequences;
    return sequences;
  }
  Own* find_own() const {
    for (Own& one : own()) {
      if (!one.first.owner_before(key_) && !key_.owner_before(one.first)) return &one;
    }
    return nullptr;
  }

  std::shared_ptr<ScoredSequence> current() const {
    model();
    const Own* mine = find_own();
    if (mine == nullptr && last_ == nullptr) {
      raise_tagger_error("there is no sequence yet: call set(xseq) or tag(xseq) first");
    }
    return mine != nullptr ? mine->second : last_;
  }

  std::shared_ptr<ScoredSequence> score(nb::handle items) {
    model();
    const std::shared_ptr<OpenModel> model = model_;  // Python code may close the tagger
    const std::shared_ptr<int> key = key_;
    std::shared_ptr<ScoredSequence> sequence;
    Own* mine = find_own();
    // Its memory is used again unless somebody else holds it: besides this thread, perhaps last_.
    if (mine != nullptr && mine->second.use_count() <= (mine->second == last_ ? 2 : 1)) {
      sequence = std::move(mine->second);
      if (sequence == last_) last_.reset();
      sequence->has_log_z = false;
      sequence->marginals.clear();
    } else {
      sequence = std::make_shared<ScoredSequence>();
    }
    answering([&] {
      const Borrowed scratch(model->tagger().pool());
      score_items(*model, items, scratch.get());
      std::swap(scratch->scores, sequence->scores);
    });
    if (key != key_) return sequence;
    last_ = sequence;
    mine = find_own();  // Python code may have run
    if (mine != nullptr) {
      mine->second = sequence;
    } else {
      std::erase_if(own(), [](const Own& one) { return one.first.expired(); });
      own().emplace_back(key, sequence);
    }
    return sequence;
  }

  int32_t label_id(PyObject* label) const {
    nb::object name = nb::borrow(label);
    if (PyBytes_Check(label)) {
      name = checked(PyUnicode_DecodeUTF8(PyBytes_AS_STRING(label), PyBytes_GET_SIZE(label), nullptr));
    }
    try {
      return model().label_id(name);
    } catch (nb::python_error& error) {
      if (!error.matches(nb::module_::import_("crfkit.exceptions").attr("InputError"))) throw;
      raise_tagger_error(nb::cast<std::string>(nb::str(error.value())));
    }
  }

  std::shared_ptr<OpenModel> model_;
  std::shared_ptr<int> key_;  // identifies the open model in the threads' own sequences
  std::shared_ptr<ScoredSequence> last_;
};

}  // namespace

void bind_sequence_tagger(nb::module_& m) {
  nb::class_<SequenceTagger>(m, "SequenceTagger", "A tagger with a current sequence, as python-crfsuite's.")
      .def(nb::init<>())
      .def("open_content", &SequenceTagger::open, "content"_a, "name"_a)
      .def("close", &SequenceTagger::close, "Release the model.")
      .def_prop_ro("is_open", &SequenceTagger::is_open)
      .def("labels", &SequenceTagger::labels, nb::sig("def labels(self) -> list[typing.Any]"),
           "Return the labels of the model.")
      .def("set", &SequenceTagger::set, "xseq"_a.none(),
           "Set the current sequence for calls of ``tag``, ``probability`` and ``marginal``.")
      .def("tag", &SequenceTagger::tag, "xseq"_a.none() = nb::none(),
           nb::sig("def tag(self, xseq: typing.Any = None) -> list[typing.Any]"),
           "Return the most probable labels of the sequence, by default the current one.")
      .def("probability", &SequenceTagger::probability, "yseq"_a,
           "Return the probability p(yseq | x) of a labelling of the current sequence; 0 if that is empty.")
      .def("marginals", &SequenceTagger::marginals,
           nb::sig("def marginals(self) -> list[dict[typing.Any, float]]"),
           "Return one dict {label: probability} per item of the current sequence.")
      .def("marginal", &SequenceTagger::marginal, "y"_a, "pos"_a,
           "Return the probability of the label ``y`` at ``pos`` in the current sequence; 0 if it is empty.");
}

}  // namespace crfkit
