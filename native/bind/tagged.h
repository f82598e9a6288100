// An open model as Python holds it, and answers about scored sequences as Python objects.
#pragma once

#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bound_vocabulary.h"
#include "sequence_items.h"
#include "tagger/tagger.h"

namespace crfkit {

// The bytes of an object with a buffer, for as long as this lives.
class HeldBytes {
 public:
  explicit HeldBytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) < 0) throw nb::python_error();
    constexpr size_t kAlignment = 8;
    if (!buffer_.readonly || reinterpret_cast<uintptr_t>(buffer_.buf) % kAlignment != 0) {
      // Bytes that may change, or that lie badly, are copied.
      copy_.resize((static_cast<size_t>(buffer_.len) + 7) / 8);
      std::memcpy(copy_.data(), buffer_.buf, static_cast<size_t>(buffer_.len));
    }
  }
  ~HeldBytes() { PyBuffer_Release(&buffer_); }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  std::string_view bytes() const {
    const void* start = copy_.empty() ? buffer_.buf : copy_.data();
    return {static_cast<const char*>(start), static_cast<size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
  std::vector<uint64_t> copy_;
};

class OpenModel {
 public:
  explicit OpenModel(const nb::object& content) : content_(content), tagger_(content_->bytes()) {
    if (tagger_.format() != "crfkit") content_.reset();  // other formats are copied
    for (const Label& label : tagger_.labels()) {
      nb::object made = checked(
          label.is_integer
              ? PyLong_FromString(label.text.c_str(), nullptr, 10)
              : PyUnicode_DecodeUTF8(label.text.data(), static_cast<Py_ssize_t>(label.text.size()), nullptr));
      ids_[made] = labels_.size();
      labels_.push_back(std::move(made));
    }
  }

  const Tagger& tagger() const { return tagger_; }
  const std::vector<nb::object>& labels() const { return labels_; }
  nb::list label_list() const {
    nb::list list;
    for (const nb::object& label : labels_) list.append(label);
    return list;
  }

  // Raises InputError for a label that the model does not have.
  int32_t label_id(nb::handle label) const {
    PyObject* found = PyDict_GetItemWithError(ids_.ptr(), label.ptr());
    if (found == nullptr) {
      PyErr_Clear();
      std::string known;
      for (size_t l = 0; l < std::min<size_t>(labels_.size(), 10); ++l) {
        known += (l > 0 ? ", " : "") + nb::cast<std::string>(nb::repr(labels_[l]));
      }
      raise("InputError", "the model has no label " + nb::cast<std::string>(nb::repr(label)) + "; it has " +
                              known + (labels_.size() > 10 ? ", …" : ""));
    }
    return static_cast<int32_t>(PyLong_AsLong(found));
  }
  std::vector<int32_t> label_ids(nb::handle labels, size_t length) const {
    std::vector<int32_t> ids;
    if (is_text(labels.ptr()) ||
        !for_each(labels.ptr(), [&](PyObject* label) { ids.push_back(label_id(label)); })) {
      raise("InputError", "expected a list of labels, got " + describe(labels.ptr()));
    }
    if (ids.size() != length) {
      raise("InputError", "the sequence has " + std::to_string(length) + " positions, but there are " +
                              std::to_string(ids.size()) + " labels");
    }
    return ids;
  }

 private:
  std::optional<HeldBytes> content_;
  Tagger tagger_;
  std::vector<nb::object> labels_;  // [L]
  nb::dict ids_;                    // label: place
};

// A sequence with its scores and, once they have been asked for, log Z and marginals. Has no Python objects.
struct ScoredSequence {
  SequenceScores scores;
  std::optional<SequenceScores> tempered;  // divided by the temperature, of a model that has one
  bool has_log_z = false;
  double log_z = 0;
  std::vector<double> marginals;  // [T, L] or empty
};

// Runs fn and raises what the tagger throws as crfkit's own errors.
template <class Fn>
auto answering(Fn&& fn) {
  try {
    return fn();
  } catch (const SequenceProblem& problem) {
    raise("InputError", problem.what());
  } catch (const NoPath& problem) {
    raise("NoPathError", problem.what());
  }
}

// Calls fn(), without the GIL if the work takes long enough for other threads to gain from that.
template <class Fn>
void computing(const OpenModel& model, const SequenceScores& x, Fn&& fn) {
  constexpr int64_t kLong = 1 << 20;  // transitions
  const auto L = static_cast<int64_t>(model.labels().size());
  if (x.length * L * L < kLong) {
    fn();
  } else {
    const Unlocked released;
    fn();
  }
}

inline nb::object label_list(const OpenModel& model, const std::vector<int32_t>& ids) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(ids.size()));
  if (list == nullptr) throw nb::python_error();
  for (size_t t = 0; t < ids.size(); ++t) {
    PyObject* label = model.labels()[static_cast<size_t>(ids[t])].ptr();
    Py_INCREF(label);
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(t), label);
  }
  return nb::steal(list);
}

inline nb::object labels_of(const OpenModel& model, const SequenceScores& x, Scratch* scratch) {
  computing(model, x, [&] { model.tagger().decode(x, scratch); });
  return label_list(model, scratch->labels);
}

// The scores that probabilities come from.
inline const SequenceScores& probability_scores(const OpenModel& model, ScoredSequence* sequence) {
  if (!model.tagger().has_temperature()) return sequence->scores;
  if (!sequence->tempered) sequence->tempered = model.tagger().tempered(sequence->scores);
  return *sequence->tempered;
}

inline double log_z_of(const OpenModel& model, ScoredSequence* sequence) {
  if (sequence->has_log_z || sequence->scores.length == 0) return sequence->log_z;
  double log_z = 0;
  const Borrowed scratch(model.tagger().pool());
  const SequenceScores& x = probability_scores(model, sequence);
  computing(model, x, [&] { log_z = model.tagger().probability_chain().log_z(x, &scratch->memory); });
  sequence->log_z = log_z;
  sequence->has_log_z = true;
  return log_z;
}

inline const std::vector<double>& marginals_of(const OpenModel& model, ScoredSequence* sequence) {
  if (!sequence->marginals.empty() || sequence->scores.length == 0) return sequence->marginals;
  std::vector<double> found;
  const Borrowed scratch(model.tagger().pool());
  const SequenceScores& x = probability_scores(model, sequence);
  computing(model, x, [&] { model.tagger().probability_chain().log_z(x, &scratch->memory, &found); });
  model.tagger().calibration().apply(&found, model.labels().size());
  if (sequence->marginals.empty()) sequence->marginals = std::move(found);  // unless another thread has
  return sequence->marginals;
}

// One dict {label: probability} per position.
inline nb::list marginal_dicts(const OpenModel& model, ScoredSequence* sequence) {
  const std::vector<double>& all = marginals_of(model, sequence);
  const size_t L = model.labels().size();
  nb::list rows;
  for (size_t t = 0; t < static_cast<size_t>(sequence->scores.length); ++t) {
    nb::dict row;
    for (size_t l = 0; l < L; ++l) row[model.labels()[l]] = all[t * L + l];
    rows.append(row);
  }
  return rows;
}

inline double score_of(const OpenModel& model, const ScoredSequence& sequence, const int32_t* ids) {
  return sequence.scores.length == 0 ? 0.0 : model.tagger().chain().path_score(sequence.scores, ids);
}

// The probability of a labelling with this score, or its logarithm: long labellings have probabilities that
// are too small for a double. Rounding must not make it more than 1.
inline double normalised(double score, double log_z, bool log) {
  const double value = std::min(score - log_z, 0.0);
  return log ? value : std::exp(value);
}

inline double probability_of(const OpenModel& model, ScoredSequence& sequence, const int32_t* ids,
                             bool log = false) {
  if (sequence.scores.length == 0) return normalised(0.0, 0.0, log);
  const SequenceScores& x = probability_scores(model, &sequence);
  const double score = model.tagger().probability_chain().path_score(x, ids);
  return normalised(score, log_z_of(model, &sequence), log);
}

inline nb::list best_labellings(const OpenModel& model, ScoredSequence& sequence, size_t k, bool log) {
  std::vector<std::pair<std::vector<int32_t>, double>> found;
  if (sequence.scores.length == 0) {
    found.emplace_back(std::vector<int32_t>(), 0.0);
  } else {
    const Borrowed scratch(model.tagger().pool());
    const SequenceScores& x = probability_scores(model, &sequence);
    computing(model, x, [&] {
      model.tagger().probability_chain().nbest(
          x, k, &scratch->memory,
          [&](const std::vector<int32_t>& path, double score) { found.emplace_back(path, score); });
    });
  }
  const double log_z = log_z_of(model, &sequence);
  nb::list out;
  for (const auto& [path, score] : found) {
    out.append(nb::make_tuple(label_list(model, path), normalised(score, log_z, log)));
  }
  return out;
}

// Tuples (start, stop, type, probability) of the segments of the model's labels.
inline nb::list predicted_segments(const OpenModel& model, ScoredSequence* sequence) {
  const Tagger& tagger = model.tagger();
  const LabelSegments& rules = tagger.segments();
  if (!rules.problem().empty()) {
    raise("InputError", "the label " + quoted(rules.problem()) +
                            " has no tag, but others have one, such as 'B-LOC': such labels do not say which "
                            "segments there are; CRF.predict_segments can read them as runs");
  }
  nb::list out;
  if (sequence->scores.length == 0) return out;
  const Borrowed scratch(tagger.pool());
  const SequenceScores& x = probability_scores(model, sequence);
  std::vector<SegmentPlace> places;
  std::vector<double> found;
  computing(model, x, [&] {
    tagger.decode(sequence->scores, scratch.get());
    places = rules.find(scratch->labels);
    if (!places.empty())
      found = tagger.probability_chain().segment_probabilities(x, rules.rules(), places, &scratch->memory);
  });
  for (size_t i = 0; i < places.size(); ++i) {
    const nb::object type = rules.is_run() ? model.labels()[rules.label_of(places[i].kind)]
                                           : nb::cast(rules.name_of(places[i].kind));
    const double p = tagger.calibration().segments ? (*tagger.calibration().segments)(found[i]) : found[i];
    out.append(nb::make_tuple(places[i].start, places[i].stop, type, p));
  }
  return out;
}

// ---- tagger.cpp

// Opens a model from an object with a buffer, which is kept. name: in messages.
std::shared_ptr<OpenModel> open_model(const nb::object& content, const std::string& name);
// Returns null if it is another object.
const ItemSequence* item_sequence(nb::handle object);
// Computes the scores of a sequence of items, into the scratch.
void score_items(const OpenModel& model, nb::handle items, Scratch* scratch);

}  // namespace crfkit
