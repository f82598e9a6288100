// The native tagger: one sequence per call, from Python objects to labels in one crossing.
#include "tagger/tagger.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>

#include "sequence_cells.h"
#include "sequence_items.h"
#include "tagged.h"
#include "tagger/column_tagger.h"

namespace crfkit {

// Opens a model from an object with a buffer, which is kept.
std::shared_ptr<OpenModel> open_model(const nb::object& content, const std::string& name) {
  try {
    return std::make_shared<OpenModel>(content);
  } catch (const NeedsPython& problem) {
    raise("InputError", "cannot read the model " + name + ": " + problem.what());
  } catch (const Damage& damage) {
    raise("ModelFileError", "cannot read the model " + name + ": " + damage.what());
  } catch (const SequenceProblem& problem) {
    raise("ModelFileError", "cannot read the model " + name + ": " + problem.what());
  } catch (const std::invalid_argument& damage) {
    raise("ModelFileError", "cannot read the model " + name + ": " + damage.what());
  }
}

const ItemSequence* item_sequence(nb::handle object) {
  return nb::isinstance<ItemSequence>(object) ? nb::inst_ptr<ItemSequence>(object) : nullptr;
}

// Computes the scores of a sequence of items, into the scratch.
void score_items(const OpenModel& model, nb::handle items, Scratch* scratch) {
  const Tagger& tagger = model.tagger();
  if (tagger.trees() != nullptr) {
    const size_t T = TableCells(*tagger.trees()).read(items.ptr(), &scratch->values);
    tagger.trees()->score(T, scratch);
    return;
  }
  const LinearModel& linear = *tagger.linear();
  ItemRows& reader = ItemRows::of(scratch);
  if (const ItemSequence* read = PyList_CheckExact(items.ptr()) ? nullptr : item_sequence(items)) {
    reader.read(*read, linear.vocabulary(), linear.wants_distinct(), &scratch->rows);
  } else {
    reader.read(items.ptr(), linear.vocabulary(), linear.wants_distinct(), &scratch->rows);
  }
  linear.score(&scratch->rows, scratch);
}

namespace {

const LinearModel& linear_of(const Tagger& tagger) {
  if (tagger.linear() == nullptr) {
    raise("InputError", "the model is a tree CRF, which has no attributes: it takes tables, tag(rows)");
  }
  return *tagger.linear();
}

// Computes the scores of tokens or rows, into the scratch.
void score_tokens(const OpenModel& model, nb::handle tokens, Scratch* scratch) {
  const Tagger& tagger = model.tagger();
  if (tagger.trees() != nullptr) return score_items(model, tokens, scratch);
  const LinearModel& linear = linear_of(tagger);
  linear.require_program();
  FeatureRunner* runner = linear.runner(scratch);
  ProgramCells(*linear.program(), runner).run(tokens.ptr());
  linear.score(&runner->rows, scratch);
}

struct BoundTagger {
  std::shared_ptr<OpenModel> model;
};

using Score = void (*)(const OpenModel&, nb::handle, Scratch*);

template <Score score>
nb::object tag(const BoundTagger& self, nb::handle sequence) {
  return answering([&] {
    const Borrowed scratch(self.model->tagger().pool());
    score(*self.model, sequence, scratch.get());
    return labels_of(*self.model, scratch->scores, scratch.get());
  });
}

// ---- a sequence with its scores

struct BoundAnalysis {
  std::shared_ptr<OpenModel> model;
  std::shared_ptr<ScoredSequence> sequence;

  nb::object labels() const {
    return answering([&] {
      const Borrowed scratch(model->tagger().pool());
      return labels_of(*model, sequence->scores, scratch.get());
    });
  }
  double score(std::optional<nb::object> labels) const {
    return answering([&] { return score_of(*model, *sequence, ids(labels).data()); });
  }
  double probability(std::optional<nb::object> labels, bool log) const {
    return answering([&] { return probability_of(*model, *sequence, ids(labels).data(), log); });
  }
  double marginal(nb::handle label, Py_ssize_t position) const {
    return answering([&] {
      const auto T = static_cast<Py_ssize_t>(sequence->scores.length);
      if (position < 0 || position >= T) {
        raise("InputError", "the sequence has the positions 0.." + std::to_string(T - 1) + ", not " +
                                std::to_string(position));
      }
      const std::vector<double>& all = marginals_of(*model, sequence.get());
      return all[static_cast<size_t>(position) * model->labels().size() +
                 static_cast<size_t>(model->label_id(label))];
    });
  }
  nb::list marginals() const {
    return answering([&] { return marginal_dicts(*model, sequence.get()); });
  }
  nb::list segments() const {
    return answering([&] { return predicted_segments(*model, sequence.get()); });
  }
  nb::list nbest(Py_ssize_t k, bool log) const {
    if (k < 1)
      raise("InputError", "k must be a whole number of labellings, at least 1; got " + std::to_string(k));
    return answering([&] { return best_labellings(*model, *sequence, static_cast<size_t>(k), log); });
  }
  size_t length() const { return static_cast<size_t>(sequence->scores.length); }

 private:
  // The ids of given labels, or of the best ones.
  std::vector<int32_t> ids(const std::optional<nb::object>& labels) const {
    if (labels && !labels->is_none()) return model->label_ids(*labels, length());
    const Borrowed scratch(model->tagger().pool());
    model->tagger().decode(sequence->scores, scratch.get());
    return scratch->labels;
  }
};

template <Score score>
BoundAnalysis analyse(const BoundTagger& self, nb::handle sequence) {
  auto made = std::make_shared<ScoredSequence>();
  answering([&] {
    const Borrowed scratch(self.model->tagger().pool());
    score(*self.model, sequence, scratch.get());
    std::swap(scratch->scores, made->scores);
  });
  return {self.model, std::move(made)};
}

nb::object tag_columns(const BoundTagger& self, const ColumnTable& table, int64_t label, char separator,
                       int n_threads) {
  const auto needed = ColumnTagger::columns_needed(self.model->tagger());
  const size_t others = table.n_columns - (label >= 0 && label < static_cast<int64_t>(table.n_columns));
  require(needed && *needed <= others, "the table has too few columns");
  std::string text;
  bool knows_some = false;
  answering([&] {
    const Unlocked released;
    text = ColumnTagger(self.model->tagger(), table, label).run(separator, n_threads, &knows_some);
  });
  return nb::make_tuple(nb::bytes(text.data(), text.size()), knows_some);
}

nb::list item_dicts(const ItemSequence& sequence, bool summed) {
  nb::list items;
  for (size_t t = 0; t + 1 < sequence.ends.size(); ++t) {
    nb::dict item;
    for (size_t i = sequence.ends[t]; i < sequence.ends[t + 1]; ++i) {
      const std::string_view name = sequence.name(sequence.entries[i]);
      const nb::str key(name.data(), name.size());
      double value = sequence.entries[i].value;
      if (summed && item.contains(key)) value += nb::cast<double>(item[key]);
      item[key] = value;
    }
    items.append(item);
  }
  return items;
}

}  // namespace

void bind_tagger(nb::module_& m) {
  nb::class_<ItemSequence>(m, "ItemSequence", "The attributes of a sequence, read once.")
      .def(
          "__init__",
          [](ItemSequence* self, nb::handle items) {
            if (const ItemSequence* other = item_sequence(items)) {
              new (self) ItemSequence(*other);
            } else {
              new (self) ItemSequence(read_item_sequence(items.ptr()));
            }
          },
          "items"_a.none(), nb::sig("def __init__(self, items: typing.Any) -> None"))
      .def("__len__", [](const ItemSequence& self) { return self.ends.size() - 1; })
      .def(
          "items", [](const ItemSequence& self) { return item_dicts(self, false); },
          nb::sig("def items(self) -> list[dict[str, float]]"),
          "Return each item as a dict of names and values; of a repeated name, the last value.")
      .def(
          "summed", [](const ItemSequence& self) { return item_dicts(self, true); },
          nb::sig("def summed(self) -> list[dict[str, float]]"),
          "Return each item as a dict of names and values; of a repeated name, the sum of its values.");

  nb::class_<BoundTagger>(m, "Tagger", "A model that labels one sequence per call.")
      .def(
          "__init__",
          [](BoundTagger* self, nb::object content, const std::string& name) {
            new (self) BoundTagger{open_model(content, name)};
          },
          "content"_a, "name"_a)
      .def(
          "tag", &tag<score_items>, "items"_a.none(),
          nb::sig("def tag(self, items: typing.Any) -> list[typing.Any]"),
          "Return the labels of a sequence of items: per position a dict or a list of attributes; for a tree "
          "model, a dict or a list of values.")
      .def("tag_tokens", &tag<score_tokens>, "tokens"_a.none(),
           nb::sig("def tag_tokens(self, tokens: typing.Any) -> list[typing.Any]"),
           "Return the labels of a sequence of tokens, or of rows of cells; the model makes the attributes.")
      .def("analyse", &analyse<score_items>, "items"_a.none(),
           nb::sig("def analyse(self, items: typing.Any) -> Analysis"),
           "Return the scores of a sequence of items, for questions about probabilities.")
      .def("analyse_tokens", &analyse<score_tokens>, "tokens"_a.none(),
           nb::sig("def analyse_tokens(self, tokens: typing.Any) -> Analysis"),
           "Return the scores of a sequence of tokens or rows, for questions about probabilities.")
      .def_prop_ro(
          "labels", [](const BoundTagger& self) { return self.model->label_list(); },
          nb::sig("def labels(self) -> list[typing.Any]"))
      .def_prop_ro("format", [](const BoundTagger& self) { return self.model->tagger().format(); })
      .def("tag_columns", &tag_columns, "table"_a, "label"_a, "separator"_a, "n_threads"_a,
           nb::sig("def tag_columns(self, table: ColumnTable, label: int, separator: str, n_threads: int) -> "
                   "tuple[bytes, bool]"),
           "Return the text of the file with the predicted labels, and whether the model knows an attribute.")
      .def_prop_ro(
          "n_columns",
          [](const BoundTagger& self) { return ColumnTagger::columns_needed(self.model->tagger()); },
          "Number of text columns that the model reads by place; None if it does not.")
      .def_prop_ro("takes_tokens", [](const BoundTagger& self) {
        const LinearModel* linear = self.model->tagger().linear();
        return linear != nullptr && linear->program() != nullptr;
      });

  nb::class_<ColumnTable>(m, "ColumnTable", "The rows of a column file.")
      .def_prop_ro("n_positions", &ColumnTable::n_positions)
      .def_ro("n_columns", &ColumnTable::n_columns);

  nb::class_<BoundAnalysis>(m, "Analysis", "The scores of one sequence.")
      .def("__len__", &BoundAnalysis::length)
      .def("labels", &BoundAnalysis::labels, nb::sig("def labels(self) -> list[typing.Any]"),
           "Return the labels, by the model's decoding.")
      .def("score", &BoundAnalysis::score, "labels"_a.none() = nb::none(),
           "Return the score of a labelling, by default of the best: the logarithm of its weight, not "
           "normalised.")
      .def("probability", &BoundAnalysis::probability, "labels"_a.none() = nb::none(), nb::kw_only(),
           "log"_a = false,
           "Return the probability of a labelling, by default of the best; or its logarithm, which long "
           "labellings need: their probabilities may be too small for a float.")
      .def("marginal", &BoundAnalysis::marginal, "label"_a, "position"_a,
           "Return the probability of a label at a position.")
      .def("marginals", &BoundAnalysis::marginals,
           nb::sig("def marginals(self) -> list[dict[typing.Any, float]]"),
           "Return one dict {label: probability} per position.")
      .def("segments", &BoundAnalysis::segments,
           nb::sig("def segments(self) -> list[tuple[int, int, typing.Any, float]]"),
           "Return the segments of the labels: (start, stop, type, probability).")
      .def("nbest", &BoundAnalysis::nbest, "k"_a, nb::kw_only(), "log"_a = false,
           nb::sig("def nbest(self, k: int, *, log: bool = False) -> list[tuple[list[typing.Any], float]]"),
           "Return the k most probable labellings with their probabilities, or log probabilities, best "
           "first.");
}

}  // namespace crfkit
