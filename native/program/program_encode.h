// Runs a feature program over a batch of sentences, on several threads.
//
// The batch is cut into blocks of whole sentences. When the vocabulary grows, every block but the first fills
// a vocabulary of its own; these are then added to the common one in the order of the blocks. Attributes thus
// get the ids of a single run, in order of first appearance, whatever the number of blocks.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "ingest/ingest_rows.h"
#include "ingest/vocabulary.h"
#include "program/feature_program.h"
#include "program/feature_runner.h"

namespace crfkit {

// The cells of a batch; offsets and ids have been checked.
struct ProgramBatch {
  struct Matrix {
    const double* data;  // [ΣT, width]; NaN: missing
    size_t width;
  };

  const Vocabulary* cells;      // the distinct texts
  const int32_t* ids;           // [ΣT, n_columns], places in cells; -1: missing
  size_t n_columns;             //
  std::vector<size_t> columns;  // [inputs], the column of ids of texts and marks, or the place in matrices
  std::vector<Matrix> matrices;
  const int64_t* offsets;  // [N + 1]
  size_t n_sequences;      // N
};

// The arrays of Sequences, except its offsets, which are the batch's.
struct EncodedRows {
  GrowableArray<int64_t> indptr;   // [ΣT + 1]
  GrowableArray<int32_t> indices;  // [nnz]
  GrowableArray<double> values;    // [nnz]; empty if all are ones
  bool valued = false;
  std::vector<uint8_t> numeric;  // [A], which attributes have values, if the vocabulary grew
};

class ProgramEncoder {
 public:
  ProgramEncoder(const FeatureProgram& program, const ProgramBatch& batch, Vocabulary* vocabulary, bool grow,
                 bool keep_zeros, int n_threads)
      : program_(program),
        batch_(batch),
        vocabulary_(vocabulary),
        grow_(grow),
        keep_zeros_(keep_zeros),
        n_threads_(n_threads) {}

  void run(EncodedRows* out) {
    cut();
    parallel_for(static_cast<int>(blocks_.size()), n_threads_,
                 [this](int b, int) { expand(&blocks_[static_cast<size_t>(b)], b == 0); });
    if (blocks_.size() == 1) {
      hand_over(out);
      return;
    }
    if (grow_) merge_vocabularies(out);
    join(out);
  }

 private:
  static constexpr int64_t kSmallestBlock = 4096;  // positions

  struct Block {
    size_t first, last;                     // its sequences are first .. last - 1
    std::unique_ptr<Vocabulary> own;        // attributes of this block, where it has its own
    std::vector<int32_t> common;            // [own->size()], their ids in the common vocabulary
    std::unique_ptr<FeatureRunner> runner;  //
  };

  void cut() {
    const int64_t n_positions = batch_.offsets[batch_.n_sequences];
    const int64_t n_blocks = std::clamp<int64_t>(n_positions / kSmallestBlock, 1, n_threads_);
    size_t first = 0;
    for (int64_t b = 1; b <= n_blocks; ++b) {
      const int64_t* const end = batch_.offsets + batch_.n_sequences;
      const auto last = static_cast<size_t>(
          std::lower_bound(batch_.offsets + first, end, n_positions * b / n_blocks) - batch_.offsets);
      blocks_.push_back({first, b == n_blocks ? batch_.n_sequences : last, nullptr, {}, nullptr});
      first = last;
    }
  }

  void expand(Block* block, bool is_first) {
    Vocabulary* target = vocabulary_;
    if (grow_ && !is_first) {
      block->own = std::make_unique<Vocabulary>();
      target = block->own.get();
    }
    block->runner = std::make_unique<FeatureRunner>(program_, target, grow_, keep_zeros_);
    std::vector<uint32_t> texts(batch_.cells->size(), SentenceValues::kNothing);  // [cells], the runner's ids
    for (size_t i = block->first; i < block->last; ++i) run_sentence(block->runner.get(), i, &texts);
  }

  void run_sentence(FeatureRunner* runner, size_t i, std::vector<uint32_t>* texts) const {
    const auto begin = static_cast<size_t>(batch_.offsets[i]);
    const size_t length = static_cast<size_t>(batch_.offsets[i + 1]) - begin;
    runner->begin(length);
    for (size_t input = 0; input < batch_.columns.size(); ++input) {
      const size_t column = batch_.columns[input];
      const InputKind kind = program_.inputs()[input].kind;
      for (size_t t = 0; t < length; ++t) {
        if (kind == InputKind::kNumber) {
          runner->values.put_number(input, t, batch_.matrices[column].data[begin + t]);
        } else if (kind == InputKind::kVector) {
          const ProgramBatch::Matrix& matrix = batch_.matrices[column];
          runner->values.put_vector(input, t, matrix.data + (begin + t) * matrix.width, matrix.width);
        } else if (const int32_t id = batch_.ids[(begin + t) * batch_.n_columns + column]; id >= 0) {
          uint32_t& text = (*texts)[static_cast<size_t>(id)];
          if (text == SentenceValues::kNothing) text = intern(runner, static_cast<size_t>(id));
          runner->values.put_text(input, t, text);
        }
      }
    }
    try {
      runner->finish();
    } catch (const ProgramFault& fault) {
      throw ProgramFault(begin + fault.position, fault.what());
    }
  }

  uint32_t intern(FeatureRunner* runner, size_t id) const {
    std::string_view text;
    if (!batch_.cells->string(id, &text)) throw std::invalid_argument("a cell lies outside its arena");
    return runner->values.intern(text);
  }

  void merge_vocabularies(EncodedRows* out) {
    out->numeric = std::move(blocks_[0].runner->numeric);
    for (Block& block : blocks_) {
      if (!block.own) continue;
      block.common.resize(block.own->size());
      for (size_t id = 0; id < block.common.size(); ++id) {
        std::string_view attribute;
        block.own->string(id, &attribute);
        block.common[id] = vocabulary_->find_or_add(attribute, hash_string(attribute));
      }
      const std::vector<uint8_t>& numeric = block.runner->numeric;
      for (size_t id = 0; id < numeric.size(); ++id) {
        const auto common = static_cast<size_t>(block.common[id]);
        if (out->numeric.size() <= common) out->numeric.resize(common + 1);
        out->numeric[common] |= numeric[id];
      }
      block.own.reset();
    }
    out->numeric.resize(vocabulary_->size());
  }

  void hand_over(EncodedRows* out) {
    FeatureRunner& runner = *blocks_[0].runner;
    out->indptr = std::move(runner.rows.indptr);
    out->indices = std::move(runner.rows.indices);
    out->values = std::move(runner.rows.values);
    out->valued = runner.rows.valued();
    out->numeric = std::move(runner.numeric);
    if (grow_) out->numeric.resize(vocabulary_->size());
  }

  void join(EncodedRows* out) {
    std::vector<size_t> rows_before(1, 0), entries_before(1, 0);  // [blocks + 1]
    for (const Block& block : blocks_) {
      const RowBuilder& rows = block.runner->rows;
      rows_before.push_back(rows_before.back() + rows.indptr.size() - 1);
      entries_before.push_back(entries_before.back() + rows.indices.size());
      out->valued |= rows.valued();
    }
    int64_t* const indptr = out->indptr.extend(rows_before.back() + 1);
    int32_t* const indices = out->indices.extend(entries_before.back());
    double* const values = out->valued ? out->values.extend(entries_before.back()) : nullptr;
    indptr[0] = 0;
    parallel_for(static_cast<int>(blocks_.size()), n_threads_, [&](int b, int) {
      const auto n = static_cast<size_t>(b);
      const Block& block = blocks_[n];
      const RowBuilder& rows = block.runner->rows;
      for (size_t t = 1; t < rows.indptr.size(); ++t) {
        indptr[rows_before[n] + t] = rows.indptr[t] + static_cast<int64_t>(entries_before[n]);
      }
      for (size_t i = 0; i < rows.indices.size(); ++i) {
        const int32_t id = rows.indices[i];
        indices[entries_before[n] + i] = block.common.empty() ? id : block.common[static_cast<size_t>(id)];
        if (values != nullptr) values[entries_before[n] + i] = rows.valued() ? rows.values[i] : 1.0;
      }
    });
  }

  const FeatureProgram& program_;
  const ProgramBatch& batch_;
  Vocabulary* const vocabulary_;
  const bool grow_;
  const bool keep_zeros_;
  const int n_threads_;
  std::vector<Block> blocks_;
};

}  // namespace crfkit
