// Labels a whole column file with a model that makes attributes of its cells: `crfkit tag` without NumPy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.h"
#include "ingest/columns.h"
#include "tagger/tagger.h"

namespace crfkit {

class ColumnTagger {
 public:
  // How many columns a row needs; none if the model does not take rows of texts by place.
  static std::optional<size_t> columns_needed(const Tagger& tagger) {
    if (tagger.linear() == nullptr || tagger.linear()->program() == nullptr) return std::nullopt;
    size_t needed = 0;
    for (const ProgramInput& input : tagger.linear()->program()->inputs()) {
      if (input.named || input.kind != InputKind::kText) return std::nullopt;
      const int64_t place = input.place;
      needed = std::max(needed, static_cast<size_t>(place < 0 ? -place : place + 1));
    }
    // Texts that say numbers may say none: the general path names the line.
    for (const ProgramNode& node : tagger.linear()->program()->nodes()) {
      if (node.kind == NodeKind::kParsed) return std::nullopt;
    }
    return needed;
  }

  // label: the column that holds true labels, which the model must not see; -1: none. The table has enough
  // other columns.
  ColumnTagger(const Tagger& tagger, const ColumnTable& table, int64_t label)
      : tagger_(tagger), table_(table) {
    for (size_t k = 0; k < table.n_columns; ++k) {
      if (static_cast<int64_t>(k) != label) seen_.push_back(k);
    }
  }

  // Returns the text of the file with the predicted label as last column. Sets knows_some if the model knows
  // an attribute of the data.
  std::string run(char separator, int n_threads, bool* knows_some) const {
    const size_t n_sequences = table_.offsets.size() - 1, n_blocks = (n_sequences + kBlock - 1) / kBlock;
    std::vector<std::string> texts(n_blocks);
    std::vector<std::unique_ptr<Worker>> workers(static_cast<size_t>(std::max(n_threads, 1)));
    parallel_for(static_cast<int>(n_blocks), n_threads, [&](int b, int w) {
      std::unique_ptr<Worker>& worker = workers[static_cast<size_t>(w)];
      if (worker == nullptr) worker = std::make_unique<Worker>(tagger_, table_.cells->size());
      const size_t first = static_cast<size_t>(b) * kBlock;
      for (size_t i = first; i < std::min(first + kBlock, n_sequences); ++i) {
        tag_sequence(i, separator, worker.get(), &texts[static_cast<size_t>(b)]);
      }
    });
    for (const auto& worker : workers) *knows_some |= worker != nullptr && worker->knows_some;
    std::string all;
    for (const std::string& text : texts) all += text;
    return all;
  }

 private:
  static constexpr size_t kBlock = 32;  // sequences

  static constexpr size_t kMostTexts = size_t{1} << 18;  // that a runner remembers from table to table

  struct Worker {
    Worker(const Tagger& tagger, size_t n_cells) : scratch(tagger.pool()), texts(n_cells) {
      tagger.linear()->runner(scratch.get())->limit(kMostTexts);
    }
    Borrowed scratch;
    std::vector<uint32_t> texts;  // [cells], the runner's ids
    size_t forgotten = 0;         // when the ids were made; a new runner counts 1
    bool knows_some = false;
  };

  std::string_view cell(size_t t, size_t k) const {
    std::string_view text;
    table_.cells->string(static_cast<size_t>(table_.ids[t * table_.n_columns + k]), &text);
    return text;
  }

  void tag_sequence(size_t i, char separator, Worker* worker, std::string* out) const {
    const auto begin = static_cast<size_t>(table_.offsets[i]),
               end = static_cast<size_t>(table_.offsets[i + 1]);
    poll(1000 * static_cast<long long>(end - begin));
    Scratch* scratch = worker->scratch.get();
    FeatureRunner* runner = tagger_.linear()->runner(scratch);
    const auto& inputs = tagger_.linear()->program()->inputs();
    runner->begin(end - begin);
    if (worker->forgotten != runner->times_forgotten()) {
      worker->forgotten = runner->times_forgotten();
      std::fill(worker->texts.begin(), worker->texts.end(), SentenceValues::kNothing);
    }
    for (size_t n = 0; n < inputs.size(); ++n) {
      const int64_t place = inputs[n].place;
      const size_t k =
          seen_[static_cast<size_t>(place < 0 ? place + static_cast<int64_t>(seen_.size()) : place)];
      for (size_t t = begin; t < end; ++t) {
        uint32_t& text = worker->texts[static_cast<size_t>(table_.ids[t * table_.n_columns + k])];
        if (text == SentenceValues::kNothing) text = runner->values.intern(cell(t, k));
        runner->values.put_text(n, t - begin, text);
      }
    }
    runner->finish();
    worker->knows_some |= runner->rows.indices.size() > 0;
    tagger_.linear()->score(&runner->rows, scratch);
    tagger_.decode(scratch->scores, scratch);
    for (size_t t = begin; t < end; ++t) {
      for (size_t k = 0; k < table_.n_columns; ++k) (*out += cell(t, k)) += separator;
      (*out += tagger_.labels()[static_cast<size_t>(scratch->labels[t - begin])].text) += '\n';
    }
    *out += '\n';
  }

  const Tagger& tagger_;
  const ColumnTable& table_;
  std::vector<size_t> seen_;  // columns that the model sees
};

}  // namespace crfkit
