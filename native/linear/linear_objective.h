// The objective of a linear-chain CRF for an optimiser: takes a vector θ, returns value and gradient.
//
// θ = [state parameters | free bigram transitions | longer label n-grams | parameters of label pairs],
// where features that the data cannot tell apart share one parameter (LinearLayout).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "linear/linear_edges.h"
#include "linear/linear_group.h"
#include "linear/linear_ngrams.h"
#include "linear/linear_problem.h"
#include "linear/linear_workspace.h"
#include "linear/pair_group.h"
#include "simd/kernels.h"
#include "simd/training_kernels.h"

namespace crfkit {

class LinearObjective {
 public:
  // pairs: the attributes that score label pairs, with "labels" previous * L + label; or null.
  LinearObjective(const AttributeData& attributes, const AttributeData* pairs, LinearSettings settings)
      : s_(std::move(settings)),
        model_(ngram_model(s_, pairs)),
        d_(chain_dims(model_.ngrams ? 1 : s_.order, s_.labels)),
        place_{s_.scratch, run_positions()},
        state_(attributes, d_.padded, place_),
        edges_(d_, s_.free, ngram_rows(s_), model_.ngrams.get()) {
    if (pairs) pair_.emplace(make_pair_group(*pairs, s_.offsets, d_, place_));
    make_masks();
    lengths_ = PieceLengths::of(d_, with_pairs(), s_.allowed != nullptr);
    if (model_.ngrams) lengths_.whole = INT64_MAX;
    all_offsets_ = s_.offsets;
    count_observed();
    if (!s_.scratch.empty()) {
      let_go_of(0, n_positions());
      let_go_of_plans();
    }
  }

  LinearObjective(const LinearObjective&) = delete;  // it points into itself

  int64_t n_sequences() const { return static_cast<int64_t>(s_.offsets.size()) - 1; }
  int64_t n_positions() const { return all_offsets_.back(); }  // ΣT, shown or not
  int64_t n_parameters() const { return first_pair() + (pair_ ? pair_->n_parameters() : 0); }
  int64_t n_features() const { return state_.n_features(); }
  int64_t n_pair_features() const { return pair_ ? pair_->n_features() : 0; }
  int order() const { return s_.order; }
  const std::vector<int64_t>& offsets() const { return s_.offsets; }
  int64_t n_ngrams() const { return edges_.n_rows(); }
  bool in_tables() const { return !model_.ngrams; }  // whether transitions are in tables

  // The data and the parts of θ: the state parameters first, then the edges, then the label pairs.
  const LinearSettings& settings() const { return s_; }
  const ChainDims& dims() const { return d_; }
  const LinearLayout& state_layout() const { return state_.layout(); }
  const LinearLayout* pair_layout() const { return pair_ ? &pair_->layout() : nullptr; }
  const LinearEdges& edges() const { return edges_; }
  int64_t first_edge() const { return state_.n_parameters(); }
  int64_t first_pair() const { return first_edge() + edges_.n_parameters(); }

  // The share of the present pass that is done; other threads may ask.
  double done() const {
    const int64_t n = n_positions();
    return n ? static_cast<double>(passed_.load(std::memory_order_relaxed)) / static_cast<double>(n) : 0.0;
  }

  // Which sequences are computed in pieces; tests make them short.
  const PieceLengths& lengths() const { return lengths_; }
  bool pairs_in_edges() const { return with_pairs() && s_.order == 1; }
  void set_lengths(const PieceLengths& lengths) { lengths_ = lengths; }

  // Restricts the objective to the first T positions; the sequence they end in is cut off there. Later
  // positions are not read, and with attributes `as_given` nothing depends on them. Growing data is laid out
  // once; each call evaluates a prefix of it.
  void show(int64_t T) {
    for (size_t i = 0; i < s_.offsets.size(); ++i) s_.offsets[i] = std::min(all_offsets_[i], T);
    count_observed();
  }

  // Writes the factor of |θ| in the c1 penalty for each parameter: that of all features that share it.
  void penalty_scale(double* out) const {
    state_.penalty_scale(out);
    std::fill(out + state_.n_parameters(), out + first_pair(), 1.0);
    if (pair_) pair_->penalty_scale(out + first_pair());
  }

  // Converts θ to feature weights [F], edge tables and weights of label pairs [G], and back. Back takes the
  // sum over features that share a parameter, which leaves every score on the training data unchanged.
  void to_features(const double* theta, double* features, double* edges, double* ngrams,
                   double* pairs) const {
    state_.to_features(theta, features);
    edges_.to_features(theta + first_edge(), edges, ngrams);
    if (pair_) pair_->to_features(theta + first_pair(), pairs);
  }
  void from_features(const double* features, const double* edges, const double* ngrams, const double* pairs,
                     double* theta) const {
    state_.from_features(features, theta);
    edges_.from_features(edges, ngrams, theta + first_edge());
    if (pair_) pair_->from_features(pairs, theta + first_pair());
  }

  // Returns the loss of sequences ids[0..n) (all if ids is null) at θ; computes its gradient and, if
  // `diagonal` is not null, an estimate of the Hessian's diagonal that treats positions as independent.
  double evaluate(const double* theta, const int32_t* ids, int64_t n, double* gradient, double* diagonal) {
    load(theta);
    prepare_chain();
    over_runs(
        n, [&](int64_t i) { return length(ids ? ids[i] : i); }, diagonal != nullptr, ids == nullptr,
        [&](int64_t first, int64_t last, LinearBlock& block) { pass(ids, first, last, block); });
    if (!s_.scratch.empty()) let_go_of_plans();
    double loss = 0;
    for (size_t b = 0; b < used_; ++b) loss += blocks_[b].loss;
    collect(gradient, &Block::state, &Block::pair, 1);
    EdgeTables table = expected_transitions();
    if (diagonal) {
      collect(diagonal, &Block::state_diag, &Block::pair_diag, 2);
      std::vector<double> spread(static_cast<size_t>(d_.labels), 0.0);
      for (size_t b = 0; b < used_; ++b)
        for (size_t l = 0; l < spread.size(); ++l) spread[l] += blocks_[b].label_diag[l];
      edges_.diagonal(table, spread, diagonal + first_edge());
    }
    if (ids) {
      for (int64_t i = 0; i < n; ++i) subtract_observed(ids[i], table);
    } else {
      for (size_t k = 0; k < table.size(); ++k)
        for (size_t i = 0; i < table[k].size(); ++i) table[k][i] -= observed_[k][i];
    }
    edges_.to_theta(table, gradient + first_edge());
    return loss;
  }

  // Computes the losses [n] at θ of spans of positions, ends[2 i] .. ends[2 i + 1] - 1, as sequences of their
  // own, and the gradient of their weighted sum (weights[2 i] > 0). log_cost: [L] or null.
  void evaluate_spans(const double* theta, const std::vector<int64_t>& ends,
                      const std::vector<double>& weights, const float* log_cost, double* loss,
                      double* gradient) {
    load(theta);
    prepare_chain();
    LinearProblem spans = problem();
    spans.offsets = ends.data();
    spans.weights = weights.data();
    spans.log_cost = log_cost;
    const auto n = static_cast<int64_t>(ends.size() / 2);
    const LinearWeights w = this->weights();
    auto span_length = [&](int64_t i) {
      return ends[static_cast<size_t>(2 * i) + 1] - ends[static_cast<size_t>(2 * i)];
    };
    over_runs(n, span_length, false, false, [&](int64_t first, int64_t last, LinearBlock& block) {
      for (int64_t i = first; i < last; ++i) {
        const auto id = static_cast<int32_t>(2 * i);
        block.loss = 0;
        training_kernels().linear_block(spans, w, &id, 0, 1, block);
        have_visited(span_length(i));
        loss[i] = block.loss / weights[static_cast<size_t>(id)];
      }
    });
    collect(gradient, &Block::state, &Block::pair, 1);
    EdgeTables table = expected_transitions();
    for (size_t i = 0; i < ends.size(); i += 2) subtract_observed(ends[i], ends[i + 1], weights[i], table);
    edges_.to_theta(table, gradient + first_edge());
  }

  // Stochastic gradient descent on loss + c2‖w‖², in place: begin loads θ, run takes one step per sequence,
  // end reads θ back. The step is step0 / (1 + step0 λ t) with λ = 2 c2 / N (Bottou, "Large-scale machine
  // learning with stochastic gradient descent", COMPSTAT 2010), t counting sequences from `t`. The shrinking
  // by c2 is kept in one common factor. Transitions, which every position uses, are renewed every few
  // sequences, and not before a number of transitions: renewing them costs as much as several of those.
  // Attributes with a unit of their own are shrunk when the steps since have cost as much as that does.
  void begin_steps(const double* theta) {
    load(theta);
    shrunk_ = 0;
    work_ = 0;
  }
  double run_steps(const int32_t* ids, int64_t n, double step0, double c2, double t) {
    const double lambda = 2 * c2 / static_cast<double>(n_sequences());
    passed_ = 0;
    if (blocks_.empty()) blocks_.resize(1);
    Block& buffers = blocks_[0];
    double loss = 0;
    for (int64_t first = 0, last = 0; first < n; first = last) {
      int64_t transitions = 0, longest = 0;
      while (last < n && (last - first < kEdgeBatch || transitions < kEdgeTransitions)) {
        longest = std::max(longest, length(ids[last]));
        transitions += std::max<int64_t>(0, length(ids[last++]) - 1);
      }
      prepare_chain();
      LinearBlock block = transitions_of(buffers, longest);
      block.state.recent = state_.weights();
      if (pair_) block.pair.recent = pair_->weights();
      double edge_step = 0;
      for (int64_t i = first; i < last; ++i) {
        const double step = step0 / (1 + step0 * lambda * t++);
        scale_ *= 1 - step * lambda;
        shrunk_ += step * lambda;
        edge_step += step;
        const auto at = static_cast<size_t>(ids[i]);
        work_ += state_.work(s_.offsets[at], s_.offsets[at + 1]);
        if (pair_) work_ += pair_->work(s_.offsets[at], s_.offsets[at + 1]);
        block.step = static_cast<float>(-step / scale_);
        training_kernels().linear_block(problem(), weights_for_step(length(ids[i])), ids, i, i + 1, block);
        have_visited(length(ids[i]));
      }
      loss += block.loss;
      edge_step /= static_cast<double>(last - first);
      EdgeTables table = edges_.zeros();
      add_expected(buffers, table);
      for (int64_t i = first; i < last; ++i) subtract_observed(ids[i], table);
      const double shrink = std::pow(1 - edge_step * lambda, static_cast<double>(last - first));
      edges_.for_each([&](size_t k, size_t slot, int64_t) {
        double& w = edges_.weights[k][slot];
        w = w * shrink - edge_step * table[k][slot];
      });
      if (work_ >= state_.work_by_unit() + (pair_ ? pair_->work_by_unit() : 0)) shrink_by_unit();
      if (scale_ < 1e-3) absorb_scale();
    }
    return loss;
  }
  void end_steps(double* theta) {
    shrink_by_unit();
    absorb_scale();
    state_.store(theta);
    edges_.to_theta(edges_.weights, theta + first_edge());
    if (pair_) pair_->store(theta + first_pair());
  }

 private:
  static constexpr int64_t kEdgeBatch = 8;         // sequences
  static constexpr int64_t kEdgeTransitions = 64;  // in them, at least

  // Converts permissions [M, L, L] to masks [M, L, Lp] that are added to scores.
  void make_masks() {
    const auto L = static_cast<size_t>(s_.labels), Lp = static_cast<size_t>(d_.padded);
    masks_.assign(s_.permitted.size() / L * Lp, 0.0f);
    for (size_t i = 0; i < s_.permitted.size(); ++i)
      if (!s_.permitted[i]) masks_[i / L * Lp + i % L] = -HUGE_VALF;
  }
  bool with_pairs() const { return pair_ || !masks_.empty(); }

  void shrink_by_unit() {
    state_.shrink_by_unit(shrunk_);
    if (pair_) pair_->shrink_by_unit(shrunk_);
    shrunk_ = 0;
    work_ = 0;
  }
  void absorb_scale() {
    state_.multiply(static_cast<float>(scale_));
    if (pair_) pair_->multiply(static_cast<float>(scale_));
    scale_ = 1;
  }

  struct Block {
    std::unique_ptr<NgramPosterior> ngrams;
    NgramCalls calls{};
    GroupSums state, pair, state_diag, pair_diag;
    std::vector<double> label_diag, counts, expand[kMaxOrder];
    LinearWorkspace workspace;
    double loss = 0;
  };

  int64_t length(int64_t i) const {
    return s_.offsets[static_cast<size_t>(i) + 1] - s_.offsets[static_cast<size_t>(i)];
  }
  // Adds -weight times the transitions of positions first .. last - 1. If a label is not known, the kernel
  // has subtracted the expected transitions instead.
  void subtract_observed(int64_t first, int64_t last, double weight, EdgeTables& table) const {
    const int32_t* y = s_.targets;
    if (std::all_of(y + first, y + last, [](int32_t label) { return label >= 0; }))
      edges_.add_path(s_.targets + first, last - first, -weight, table);
  }
  void subtract_observed(int64_t i, EdgeTables& table) const {
    subtract_observed(s_.offsets[static_cast<size_t>(i)], s_.offsets[static_cast<size_t>(i) + 1], weight(i),
                      table);
  }
  double weight(int64_t i) const { return s_.weights.empty() ? 1.0 : s_.weights[static_cast<size_t>(i)]; }

  void count_observed() {
    observed_ = edges_.zeros();
    for (int64_t i = 0; i < n_sequences(); ++i) subtract_observed(i, observed_);
    for (auto& table : observed_)
      for (double& count : table) count = -count;
  }

  void load(const double* theta) {
    scale_ = 1;
    share(theta, [](LinearGroup& group, const double* part, int64_t from, int64_t to) {
      group.load(part, from, to);
    });
    edges_.from_theta(theta + first_edge(), edges_.weights);
  }

  // Calls fn(group, its part of a vector [P], from, to) so that the threads share the parameters of the
  // groups.
  template <class Real, class Fn>
  void share(Real* vector, Fn&& fn) {
    constexpr int64_t kFewest = 1 << 18;  // parameters for which a thread is worth starting
    const auto threads = static_cast<int>(std::clamp<int64_t>(n_parameters() / kFewest, 1, s_.threads));
    parallel_for(threads, threads, [&](int b, int) {
      auto part = [&](LinearGroup& group, Real* own) {
        const int64_t n = group.n_parameters();
        fn(group, own, n * b / threads, n * (b + 1) / threads);
      };
      part(state_, vector);
      if (pair_) part(*pair_, vector + first_pair());
    });
  }

  void prepare_chain() {
    const double* edges[kMaxOrder] = {};
    for (int k = 0; k < edges_.n_tables(); ++k) edges[k] = edges_.weights[static_cast<size_t>(k)].data();
    if (model_.ngrams) return model_.load(edges[0], edges[1]);
    float_memory_.resize(static_cast<size_t>(shared_edges_size(d_)));
    double_memory_.resize(static_cast<size_t>(shared_edges_size(d_)));
    training_kernels().prepare_edges_float(d_, edges, nullptr, nullptr, float_memory_.data(), &shared_);
    kernels().prepare_edges(d_, edges, nullptr, nullptr, double_memory_.data(), &exact_);
    log_memory_.resize(static_cast<size_t>(log_tables_size(d_)));
    tables_ = cut_log_tables(d_, log_memory_.data(), true);
    kernels().fill_shared_tables(d_, edges, tables_);
  }

  LinearProblem problem() const {
    LinearProblem p{};
    p.dims = d_;
    p.offsets = s_.offsets.data();
    p.state = state_.features();
    if (pair_) p.pair = pair_->features();
    p.labels = s_.targets;
    p.allowed = s_.allowed;
    p.likely = s_.likely;
    p.weights = s_.weights.empty() ? nullptr : s_.weights.data();
    p.log_cost = s_.log_cost.empty() ? nullptr : s_.log_cost.data();
    p.kinds = s_.kinds;
    p.masks = masks_.empty() ? nullptr : masks_.data();
    return p;
  }
  LinearWeights weights() const {
    LinearWeights w{};
    w.scale = static_cast<float>(scale_);
    w.state = state_.weights();
    if (pair_) w.pair = pair_->weights();
    if (model_.ngrams) return w;
    for (int k = 0; k < edges_.n_tables(); ++k) w.edges[k] = edges_.weights[static_cast<size_t>(k)].data();
    w.shared = &shared_;
    w.exact = &exact_;
    w.tables = &tables_;
    return w;
  }

  // Returns the weights for a stochastic step on a sequence. A step changes them piece by piece: those that a
  // long sequence is scored with must be a copy.
  LinearWeights weights_for_step(int64_t T) {
    LinearWeights w = weights();
    if (T <= lengths_.whole) return w;
    w.state = state_.copy_weights(old_state_);
    if (pair_) w.pair = pair_->copy_weights(old_pair_);
    return w;
  }

  // Adds sequences ids[first..last) (first..last themselves if ids is null) to the block's sums.
  void pass(const int32_t* ids, int64_t first, int64_t last, LinearBlock& block) {
    const LinearProblem p = problem();
    const LinearWeights w = weights();
    auto end_of = [&](int64_t i) {  // the sequences from i on that are computed before others are fetched
      for (int64_t n = 0; i < last && n < kStretch; ++i) n += length(ids ? ids[i] : i);
      return i;
    };
    int64_t seen[4];
    for (int64_t i = first, end; i < last; i = end) {
      end = end_of(i);
      if (i == first) std::copy_n(block.next_event, 4, seen);
      if (!ids && !s_.scratch.empty()) fetch(end, end_of(end));
      training_kernels().linear_block(p, w, ids, i, end, block);
      if (ids)
        for (int64_t k = i; k < end; ++k) have_visited(length(ids[k]));
      else
        have_passed(s_.offsets[static_cast<size_t>(i)], s_.offsets[static_cast<size_t>(end)]);
      if (!ids && !s_.scratch.empty()) let_go_of_passed(block, seen);
    }
  }

  // When a page is read, the system also maps up to 16 around it: those before a stretch come back with its
  // first page. So a stretch is let go together with so many positions, or events, before it.
  static constexpr int64_t kAround = 1 << 14;

  // Notes that positions from .. to - 1 have been computed.
  void have_passed(int64_t from, int64_t to) {
    passed_.fetch_add(to - from, std::memory_order_relaxed);
    if (!s_.scratch.empty()) let_go_of(std::max<int64_t>(0, from - kAround), to);
  }
  void let_go_of(int64_t from, int64_t to) const {
    state_.let_go_of(from, to);
    if (pair_) pair_->let_go_of(from, to);
    let_go(s_.targets + from, to - from);
    if (s_.allowed) let_go(s_.allowed + from * s_.labels, (to - from) * s_.labels);
    if (s_.kinds) let_go(s_.kinds + from, to - from);
  }
  // Notes that n positions somewhere in the data have been computed.
  void have_visited(int64_t n) {
    constexpr int64_t kMany = 16 * kStretch;
    const int64_t before = passed_.fetch_add(n, std::memory_order_relaxed);
    if (s_.scratch.empty() || before / kMany == (before + n) / kMany) return;
    let_go_of(0, n_positions());
  }
  void fetch(int64_t first, int64_t last) const {  // sequences
    const int64_t from = s_.offsets[static_cast<size_t>(first)], to = s_.offsets[static_cast<size_t>(last)];
    state_.fetch(from, to);
    if (pair_) pair_->fetch(from, to);
  }
  void let_go_of_plans() const {
    for (const LinearLayout* layout : {&state_.layout(), pair_layout()})
      for (const SettlePlan* plan :
           {layout ? &layout->row_plan : nullptr, layout ? &layout->sparse_plan : nullptr})
        if (plan) plan->let_go_of_events(0, plan->n);
  }
  // The same for events that a run has passed since it was here last.
  void let_go_of_passed(const LinearBlock& block, int64_t* seen) const {
    const LinearLayout* of[] = {&state_.layout(), pair_layout()};
    for (int k = 0; k < 4; ++k) {
      if (!of[k / 2]) continue;
      const SettlePlan& plan = k % 2 ? of[k / 2]->sparse_plan : of[k / 2]->row_plan;
      plan.let_go_of_events(std::max<int64_t>(0, seen[k] - kAround), block.next_event[k]);
      seen[k] = block.next_event[k];
    }
  }

  // The positions where the runs of a pass over everything begin and end.
  std::vector<int64_t> run_positions() const {
    std::vector<int64_t> cuts = filled_runs(n_sequences(), s_.threads, [&](int64_t i) { return length(i); });
    for (int64_t& cut : cuts) cut = s_.offsets[static_cast<size_t>(cut)];
    return cuts;
  }

  // Calls run(first, last, block) for one run of the n sequences per thread, of about equally many positions.
  // There are as many blocks as there are such runs: threads without work cost nothing. `everything`: the
  // sequences are those that were laid out.
  template <class Length, class Run>
  void over_runs(int64_t n, Length&& length_of, bool with_diagonal, bool everything, Run&& run) {
    const std::vector<int64_t> cuts = filled_runs(n, s_.threads, length_of);
    everything = everything && s_.offsets.back() == all_offsets_.back();
    passed_ = 0;
    used_ = cuts.size() - 1;
    if (blocks_.size() < used_) blocks_.resize(used_);
    const auto n_runs = static_cast<int>(used_);
    parallel_for(n_runs, n_runs, [&](int b, int) {
      const int64_t first = cuts[static_cast<size_t>(b)], last = cuts[static_cast<size_t>(b) + 1];
      int64_t longest = 0;
      for (int64_t i = first; i < last; ++i) longest = std::max(longest, length_of(i));
      Block& own = blocks_[static_cast<size_t>(b)];
      const size_t number = everything ? static_cast<size_t>(b) : GroupSums::kAnyRun;
      LinearBlock block = sums_of(own, longest, with_diagonal, number);
      run(first, last, block);
      own.loss = block.loss;
    });
  }

  // Returns a block's sums, set to zero, in the kernel's form, with room for sequences of these lengths.
  LinearBlock sums_of(Block& b, int64_t longest, bool with_diagonal, size_t run) const {
    LinearBlock out = transitions_of(b, longest);
    out.state = state_.zeros(b.state, run);
    if (pair_) out.pair = pair_->zeros(b.pair, run);
    if (with_diagonal) {
      out.state_diag = state_.zeros(b.state_diag, run);
      if (pair_) out.pair_diag = pair_->zeros(b.pair_diag, run);
      b.label_diag.assign(static_cast<size_t>(d_.padded), 0.0);
      out.label_diag = b.label_diag.data();
    }
    return out;
  }

  // Returns a block with sums of transitions only, and the workspace.
  LinearBlock transitions_of(Block& b, int64_t longest) const {
    const int64_t n_counts = model_.ngrams ? model_.ngrams->n_nodes() : d_.states * d_.labels;
    b.counts.assign(static_cast<size_t>(n_counts), 0.0);
    LinearBlock out{};
    if (model_.ngrams) {
      if (!b.ngrams) b.ngrams = std::make_unique<NgramPosterior>(model_);
      b.calls = calls_of(*b.ngrams);
      out.ngrams = &b.calls;
    }
    b.workspace.lend(d_, with_pairs(), s_.allowed != nullptr, lengths_, longest, out);
    out.step = 1;
    out.counts = b.counts.data();
    for (int t = 1; t < d_.order; ++t) {
      b.expand[t].assign(static_cast<size_t>(power(d_.labels, t) * d_.padded), 0.0);
      out.expand[t] = b.expand[t].data();
    }
    return out;
  }

  // Adds up the blocks, in their order; each parameter times scale^power.
  void collect(double* out, GroupSums Block::* state, GroupSums Block::* pair, int power) {
    std::vector<const GroupSums*> states, pairs;
    for (size_t b = 0; b < used_; ++b) {
      states.push_back(&(blocks_[b].*state));
      pairs.push_back(&(blocks_[b].*pair));
    }
    share(out, [&](const LinearGroup& group, double* part, int64_t from, int64_t to) {
      group.collect(part, from, to, power, &group == &state_ ? states : pairs);
    });
    state_.add_settled(out, power, states);
    if (pair_) pair_->add_settled(out + first_pair(), power, pairs);
  }

  void add_expected(Block& b, EdgeTables& table) const {
    if (model_.ngrams) return edges_.add_expected(b.counts.data(), table);
    const double* expand[kMaxOrder];
    for (int t = 1; t < d_.order; ++t) expand[t] = b.expand[t].data();
    edges_.add_expected(b.counts.data(), expand, table);
  }
  EdgeTables expected_transitions() {
    EdgeTables table = edges_.zeros();
    for (size_t b = 0; b < used_; ++b) add_expected(blocks_[b], table);
    return table;
  }

  LinearSettings s_;
  NgramModel model_;
  ChainDims d_;
  LayoutPlace place_;
  LinearGroup state_;
  LinearEdges edges_;
  std::optional<LinearGroup> pair_;  // attributes that score label pairs
  EdgeTables observed_;              // transitions of the whole data
  std::vector<float> masks_;         // [M, L, Lp] 0, or -inf where a pair is forbidden
  std::vector<float> float_memory_;
  std::vector<double> double_memory_, log_memory_;
  SharedEdges<float> shared_{};
  SharedEdges<double> exact_{};
  LogTables tables_{};
  double shrunk_ = 0;  // -log of the common shrinking that attributes with a unit have not got as they should
  int64_t work_ = 0;   // numbers read since then
  double scale_ = 1;   // the weights are this times those of state_ and pair_
  std::vector<int64_t> all_offsets_;  // [N + 1] before `show`
  PieceLengths lengths_{};
  ParameterTable<float> old_state_, old_pair_;  // before a stochastic step on a long sequence
  std::vector<Block> blocks_;                   // one per thread that has had work
  size_t used_ = 0;                             // blocks of the last pass
  std::atomic<int64_t> passed_ = 0;             // positions of the pass so far
};

}  // namespace crfkit
