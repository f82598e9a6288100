// The C interface of the tagger (crfkit.h).
#include "capi/crfkit.h"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "tagger/tagger.h"

using crfkit::Borrowed;
using crfkit::Scratch;
using crfkit::SequenceProblem;

struct crfkit_tagger {
  explicit crfkit_tagger(std::vector<uint64_t>&& bytes, size_t size)
      : content(std::move(bytes)), core({reinterpret_cast<const char*>(content.data()), size}) {}
  std::vector<uint64_t> content;  // aligned to 8
  crfkit::Tagger core;
};

namespace {

thread_local std::string last_error;

// Returns what fn returns, or `failed` if it throws.
template <class Result, class Fn>
Result guarded(Result failed, Fn&& fn) noexcept {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return failed;
}

crfkit_tagger* opened(std::vector<uint64_t>&& bytes, size_t size, const char* name) {
  try {
    return new crfkit_tagger(std::move(bytes), size);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& damage) {
    throw SequenceProblem(std::string("cannot read the model ") + name + ": " + damage.what());
  }
}

[[noreturn]] void fail_at(size_t position, const std::string& problem) {
  throw SequenceProblem("position " + std::to_string(position) + ": " + problem);
}

// Returns the cell in a column, which may count from the end; null if it is missing.
const char* cell_at(const char* const* row, size_t n_columns, int32_t place, size_t t) {
  const int64_t at = place < 0 ? place + static_cast<int64_t>(n_columns) : place;
  if (at < 0 || at >= static_cast<int64_t>(n_columns)) {
    fail_at(t, "there is no column " + std::to_string(place) + ": the row has " + std::to_string(n_columns) +
                   " cells");
  }
  const char* cell = row[at];
  if (cell != nullptr && !crfkit::is_utf8(cell)) fail_at(t, "the text is not UTF-8");
  return cell;
}

// Runs the model's feature program over the cells.
void run_program(const crfkit::LinearModel& linear, const char* const* cells, size_t n_rows, size_t n_columns,
                 Scratch* scratch) {
  const auto& inputs = linear.program()->inputs();
  crfkit::FeatureRunner* runner = linear.runner(scratch);
  runner->begin(n_rows);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const crfkit::ProgramInput& input = inputs[i];
    if (input.named || input.kind == crfkit::InputKind::kVector) {
      throw SequenceProblem("the model reads the column " +
                            (input.named ? "'" + input.name + "'" : input.title) +
                            (input.named ? ", but cells in C have no names" : ", whose cells are vectors") +
                            ": use it from Python");
    }
    for (size_t t = 0; t < n_rows; ++t) {
      const char* cell = cell_at(cells + t * n_columns, n_columns, input.place, t);
      if (input.kind == crfkit::InputKind::kGap) {
        if (cell == nullptr) runner->values.put_text(i, t, std::string_view());
      } else if (input.kind == crfkit::InputKind::kNumber) {
        if (cell != nullptr || !input.optional)
          runner->values.put_number_text(i, t, cell == nullptr ? "" : cell);
      } else if (cell != nullptr) {
        runner->values.put_text(i, t, std::string_view(cell));
      }
    }
  }
  runner->finish();
  linear.score(&runner->rows, scratch);
}

void score_table(const crfkit::TreeModel& trees, const char* const* cells, size_t n_rows, size_t n_columns,
                 Scratch* scratch) {
  if (!trees.width()) {
    throw SequenceProblem(
        "the model was trained on named values, but cells in C have no names: use it from Python");
  }
  const size_t K = trees.columns().size();
  scratch->values.assign(n_rows * K, crfkit::TreeModel::kMissing);
  for (size_t t = 0; t < n_rows; ++t) {
    if (n_columns != *trees.width()) {
      fail_at(t, "the row has " + std::to_string(n_columns) + " columns, but " +
                     std::to_string(*trees.width()) + " were expected, as in training");
    }
    for (size_t k = 0; k < K; ++k) {
      const auto place = static_cast<int32_t>(trees.place(k));
      const char* cell = cell_at(cells + t * n_columns, n_columns, place, t);
      if (cell == nullptr) continue;
      const auto value = crfkit::TreeModel::cell(trees.columns()[k], cell);
      if (!value) {
        fail_at(t, "feature '" + trees.columns()[k].name + "' held numbers in training, but here '" +
                       crfkit::shortened(cell) + "'");
      }
      scratch->values[t * K + k] = *value;
    }
  }
  trees.score(n_rows, scratch);
}

// Writes the labels of the scored sequence, and its probability if it is wanted.
int answer(const crfkit::Tagger& tagger, Scratch* scratch, int32_t* labels, double* probability) {
  tagger.decode(scratch->scores, scratch);
  std::copy(scratch->labels.begin(), scratch->labels.end(), labels);
  if (probability == nullptr) return 0;
  *probability = 1;
  if (scratch->labels.empty()) return 0;
  const auto& chain = tagger.probability_chain();
  const crfkit::SequenceScores x =
      tagger.has_temperature() ? tagger.tempered(scratch->scores) : scratch->scores;
  const double score = chain.path_score(x, labels), log_z = chain.log_z(x, &scratch->memory);
  *probability = std::exp(std::min(score - log_z, 0.0));
  return 0;
}

}  // namespace

crfkit_tagger* crfkit_open(const char* path) {
  return guarded<crfkit_tagger*>(nullptr, [&] {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(
        std::fopen(path, "rb"), [](FILE* f) { return f == nullptr ? 0 : std::fclose(f); });
    if (file == nullptr) throw SequenceProblem(std::string(path) + ": " + std::strerror(errno));
    std::vector<uint64_t> content;
    size_t size = 0;
    for (size_t n = 1; n > 0; size += n) {
      constexpr size_t kPiece = size_t{1} << 20;
      content.resize((size + kPiece + 7) / 8);
      n = std::fread(reinterpret_cast<char*>(content.data()) + size, 1, kPiece, file.get());
    }
    if (std::ferror(file.get())) throw SequenceProblem(std::string(path) + ": " + std::strerror(errno));
    content.resize((size + 7) / 8);
    return opened(std::move(content), size, path);
  });
}

crfkit_tagger* crfkit_open_memory(const void* bytes, size_t size) {
  return guarded<crfkit_tagger*>(nullptr, [&] {
    std::vector<uint64_t> content((size + 7) / 8);
    if (size > 0) std::memcpy(content.data(), bytes, size);
    return opened(std::move(content), size, "<bytes>");
  });
}

void crfkit_close(crfkit_tagger* tagger) { delete tagger; }

const char* crfkit_error(void) { return last_error.c_str(); }

size_t crfkit_label_count(const crfkit_tagger* tagger) { return tagger->core.labels().size(); }

const char* crfkit_label(const crfkit_tagger* tagger, int32_t id) {
  const auto& labels = tagger->core.labels();
  if (id < 0 || static_cast<size_t>(id) >= labels.size()) return nullptr;
  return labels[static_cast<size_t>(id)].text.c_str();
}

int crfkit_takes_rows(const crfkit_tagger* tagger) { return tagger->core.takes_rows() ? 1 : 0; }

int crfkit_tag_rows(const crfkit_tagger* tagger, const char* const* cells, size_t n_rows, size_t n_columns,
                    int32_t* labels, double* probability) {
  return guarded(-1, [&] {
    const crfkit::Tagger& core = tagger->core;
    const Borrowed scratch(core.pool());
    if (core.trees() != nullptr) {
      score_table(*core.trees(), cells, n_rows, n_columns, scratch.get());
    } else {
      core.linear()->require_program();
      try {
        run_program(*core.linear(), cells, n_rows, n_columns, scratch.get());
      } catch (const crfkit::ProgramFault& fault) {
        fail_at(fault.position, fault.what());
      }
    }
    return answer(core, scratch.get(), labels, probability);
  });
}

int crfkit_tag_items(const crfkit_tagger* tagger, const crfkit_attribute* attributes, const size_t* ends,
                     size_t n_items, int32_t* labels, double* probability) {
  return guarded(-1, [&] {
    const crfkit::Tagger& core = tagger->core;
    if (core.trees() != nullptr)
      throw SequenceProblem("the model takes tables, not attributes: tag its rows");
    const crfkit::LinearModel& linear = *core.linear();
    const Borrowed scratch(core.pool());
    crfkit::RowBuilder& rows = scratch->rows;
    rows.clear();
    for (size_t t = 0, i = 0; t < n_items; ++t) {
      for (; i < ends[t]; ++i) {
        const auto& [name, value] = attributes[i];
        if (name == nullptr || !crfkit::is_utf8(name)) fail_at(t, "an attribute must be text in UTF-8");
        if (!std::isfinite(value)) {
          fail_at(t, std::string("feature '") + name + "': expected a finite number");
        }
        const int32_t id = linear.vocabulary().find(name, crfkit::hash_string(name));
        if (id != crfkit::Vocabulary::kUnknown && value != 0) rows.add(id, value);
      }
      if (rows.end_position() >= 0) fail_at(t, "the values of an attribute add up to infinity");
    }
    rows.end_sequence();
    linear.score(&rows, scratch.get());
    return answer(core, scratch.get(), labels, probability);
  });
}
