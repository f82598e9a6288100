// Applies a template to a column table: sequences of attribute ids, on several threads.
//
// The table is cut into blocks of whole sequences. When the vocabulary grows, every block but the first fills
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
#include "templates/template_expand.h"
#include "templates/template_program.h"

namespace crfkit {

// The arrays of Sequences, except its offsets, which are the table's.
struct EncodedRows {
  GrowableArray<int64_t> indptr;   // [ΣT + 1]
  GrowableArray<int32_t> indices;  // [nnz]
  GrowableArray<double> values;    // [nnz]; empty if all are ones
  bool valued = false;
};

class TemplateEncoder {
 public:
  TemplateEncoder(const TemplateProgram& program, const CellTable& table, Vocabulary* vocabulary, bool grow,
                  int n_threads)
      : program_(program), table_(table), vocabulary_(vocabulary), grow_(grow), n_threads_(n_threads) {}

  void run(EncodedRows* out) {
    cut();
    parallel_for(static_cast<int>(blocks_.size()), n_threads_,
                 [this](int b, int) { expand(&blocks_[static_cast<size_t>(b)], b == 0); });
    if (blocks_.size() == 1) {
      hand_over(out);
      return;
    }
    if (grow_) merge_vocabularies();
    join(out);
  }

 private:
  static constexpr int64_t kSmallestBlock = 4096;  // positions

  struct Block {
    size_t first, last;                          // its sequences are first .. last - 1
    std::unique_ptr<Vocabulary> own;             // attributes of this block, where it has its own
    std::vector<int32_t> common;                 // [own->size()], their ids in the common vocabulary
    std::unique_ptr<TemplateExpander> expander;  //
  };

  void cut() {
    const int64_t n_positions = table_.offsets[table_.n_sequences];
    const int64_t n_blocks = std::clamp<int64_t>(n_positions / kSmallestBlock, 1, n_threads_);
    size_t first = 0;
    for (int64_t b = 1; b <= n_blocks; ++b) {
      const int64_t* const end = table_.offsets + table_.n_sequences;
      const auto last = static_cast<size_t>(
          std::lower_bound(table_.offsets + first, end, n_positions * b / n_blocks) - table_.offsets);
      blocks_.push_back({first, b == n_blocks ? table_.n_sequences : last, nullptr, {}, nullptr});
      first = last;
    }
  }

  void expand(Block* block, bool is_first) {
    Vocabulary* target = vocabulary_;
    if (grow_ && !is_first) {
      block->own = std::make_unique<Vocabulary>();
      target = block->own.get();
    }
    block->expander = std::make_unique<TemplateExpander>(program_, table_, target, grow_);
    block->expander->expand(block->first, block->last);
  }

  void merge_vocabularies() {
    for (Block& block : blocks_) {
      if (!block.own) continue;
      block.common.resize(block.own->size());
      for (size_t id = 0; id < block.common.size(); ++id) {
        std::string_view attribute;
        block.own->string(id, &attribute);
        block.common[id] = vocabulary_->find_or_add(attribute, hash_string(attribute));
      }
      block.own.reset();
    }
  }

  void hand_over(EncodedRows* out) {
    RowBuilder& rows = blocks_[0].expander->rows;
    out->indptr = std::move(rows.indptr);
    out->indices = std::move(rows.indices);
    out->values = std::move(rows.values);
    out->valued = rows.valued();
  }

  void join(EncodedRows* out) {
    std::vector<size_t> rows_before(1, 0), entries_before(1, 0);  // [blocks + 1]
    for (const Block& block : blocks_) {
      const RowBuilder& rows = block.expander->rows;
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
      const RowBuilder& rows = block.expander->rows;
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

  const TemplateProgram& program_;
  const CellTable table_;
  Vocabulary* const vocabulary_;
  const bool grow_;
  const int n_threads_;
  std::vector<Block> blocks_;
};

}  // namespace crfkit
