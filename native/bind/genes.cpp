// Gene structures: posteriors for training, best structures for prediction.
#include <unordered_map>

#include "base/parallel.h"
#include "bind.h"
#include "genes/gene_paths.h"

namespace crfkit {

namespace {

// One strand of a batch: sequence i begins at position offsets[i] and at place offsets[i] + i.
struct StrandBatch {
  Array<const uint8_t> codes;      // [ΣT]
  Array<const double, 2> content;  // [ΣT, kContents]
  Array<const double, 2> sites;    // [ΣT + N, kSites]

  void check(int64_t positions, int64_t sequences) const {
    require(static_cast<int64_t>(codes.shape(0)) == positions, "codes does not fit offsets");
    require(static_cast<int64_t>(content.shape(0)) == positions && content.shape(1) == kContents,
            "content must be [positions, 4]");
    require(static_cast<int64_t>(sites.shape(0)) == positions + sequences && sites.shape(1) == kSites,
            "sites must be [positions + sequences, 4]");
  }
  StrandScores of(int64_t sequence, int64_t first, int64_t length) const {
    return {length, codes.data() + first, content.data() + first * kContents,
            sites.data() + (first + sequence) * kSites};
  }
};

struct Batch {
  Array<const int64_t> offsets;  // [N + 1]
  StrandBatch forward;
  std::optional<StrandBatch> backward;
  Array<const double, 2> exon;  // [kExonKinds, n_exon]
  Array<const double> intron;   // [n_intron]
  int64_t min_intron;
  double split_stop, partial;

  Batch(Array<const int64_t> offsets_, Array<const uint8_t> codes, Array<const double, 2> content,
        Array<const double, 2> sites, std::optional<Array<const uint8_t>> codes2,
        std::optional<Array<const double, 2>> content2, std::optional<Array<const double, 2>> sites2,
        Array<const double, 2> exon_, Array<const double> intron_, int64_t min_intron_, double split_stop_,
        double partial_)
      : offsets(offsets_),
        forward{codes, content, sites},
        exon(exon_),
        intron(intron_),
        min_intron(min_intron_),
        split_stop(split_stop_),
        partial(partial_) {
    check_bounds(offsets, codes.shape(0), "codes does not fit offsets");
    for (size_t i = 1; i < offsets.shape(0); ++i)
      require(offsets(i) - offsets(i - 1) < (int64_t{1} << 26), "a sequence is too long for one piece");
    require(codes2.has_value() == content2.has_value() && codes2.has_value() == sites2.has_value(),
            "the other strand needs codes, content and sites");
    if (codes2) backward = StrandBatch{*codes2, *content2, *sites2};
    forward.check(offsets(offsets.shape(0) - 1), n_sequences());
    if (backward) backward->check(offsets(offsets.shape(0) - 1), n_sequences());
    require(exon.shape(0) == kExonKinds && exon.shape(1) > 0, "exon must be [4, lengths]");
    require(intron.shape(0) > 0 && min_intron >= 2, "intron must be [lengths], min_intron at least 2");
  }

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.shape(0)) - 1; }

  void build(int64_t i, GeneGraph& graph) const {
    const int64_t first = offsets(static_cast<size_t>(i)),
                  length = offsets(static_cast<size_t>(i) + 1) - first;
    const SegmentScores s{exon.data(),   static_cast<int64_t>(exon.shape(1)),
                          intron.data(), static_cast<int64_t>(intron.shape(0)),
                          min_intron,    split_stop,
                          partial};
    const StrandScores there = forward.of(i, first, length);
    if (backward) {
      const StrandScores back = backward->of(i, first, length);
      graph.build(there, &back, s);
    } else {
      graph.build(there, nullptr, s);
    }
  }
};

// The sums of posteriors of one strand.
struct Sums {
  double *content, *sites;  // of one sequence
};

// Adds the posteriors of the arcs of one strand to its sums; cover: [3, T + 1] workspace.
void add_posteriors(const GeneGraph& g, const GenePaths& p, int strand, Sums to, double* exon, int64_t n_exon,
                    double* intron, std::vector<double>& cover) {
  const auto T = static_cast<size_t>(g.length);
  cover.assign(4 * (T + 1), 0.0);
  for (size_t a = 0; a < g.arcs.size(); ++a) {
    const Arc& arc = g.arcs[a];
    const double q = p.arc_p[a];
    if (arc.strand != strand || q == 0) continue;
    const bool is_intron = arc.kind == kIntron || arc.kind == kCutIntron;
    double* row = cover.data() + (is_intron ? 3 : arc.frame) * (T + 1);
    row[arc.begin] += q;
    row[arc.end] -= q;
    if (is_intron) {
      // A cut intron has one of its two sites.
      const bool from_start = arc.kind == kCutIntron && arc.begin == 0;
      if (!from_start) to.sites[arc.begin * kSites + kDonor] += q;
      if (arc.kind == kIntron || from_start) to.sites[arc.end * kSites + kAcceptor] += q;
      if (arc.kind == kIntron) intron[arc.end - arc.begin] += q;
      continue;
    }
    if (arc.kind == kInitial || arc.kind == kSingle) to.sites[arc.begin * kSites + kStart] += q;
    if (arc.kind == kTerminal || arc.kind == kSingle) to.sites[arc.end * kSites + kStop] += q;
    if (arc.kind != kCutExon)
      exon[arc.kind * n_exon + std::min<int64_t>(arc.end - arc.begin, n_exon - 1)] += q;
  }
  for (int f = 0; f < 4; ++f) {
    double sum = 0;
    for (size_t t = 0; t < T; ++t) {
      sum += cover[static_cast<size_t>(f) * (T + 1) + t];
      const size_t column = f == 3 ? 3 : (t + 3 - static_cast<size_t>(f)) % 3;
      to.content[t * kContents + column] += sum;
    }
  }
}

// Sums posteriors over blocks of sequences; each block has its own sums of lengths, which are added in order.
void posteriors(const Batch& batch, Array<double> log_z, Array<double, 2> content, Array<double, 2> sites,
                std::optional<Array<double, 2>> content2, std::optional<Array<double, 2>> sites2,
                Array<double, 2> exon, Array<double> intron, int n_threads) {
  const int64_t N = batch.n_sequences();
  require(static_cast<int64_t>(log_z.shape(0)) == N, "log_z must have one entry per sequence");
  require(content.shape(0) == batch.forward.content.shape(0) && content.shape(1) == kContents &&
              sites.shape(0) == batch.forward.sites.shape(0) && sites.shape(1) == kSites,
          "content and sites must have the batch's shapes");
  require(content2.has_value() == batch.backward.has_value() && sites2.has_value() == content2.has_value(),
          "content2 and sites2 must be given exactly if the batch has the other strand");
  if (content2)
    require(content2->shape(0) == content.shape(0) && content2->shape(1) == kContents &&
                sites2->shape(0) == sites.shape(0) && sites2->shape(1) == kSites,
            "content2 and sites2 must have the batch's shapes");
  require(exon.shape(0) == kExonKinds && exon.shape(1) == batch.exon.shape(1) &&
              intron.shape(0) == batch.intron.shape(0),
          "exon and intron must have the batch's shapes");
  const Unlocked release;
  const size_t n_lengths = exon.size() + intron.size();
  const int blocks = static_cast<int>(std::min<int64_t>(N, 16));
  std::vector<std::vector<double>> lengths(static_cast<size_t>(blocks));
  parallel_for(blocks, n_threads, [&](int b, int) {
    GeneGraph graph;
    GenePaths paths;
    std::vector<double> cover;
    std::vector<double>& sums = lengths[static_cast<size_t>(b)];
    sums.assign(n_lengths, 0.0);
    for (int64_t i = N * b / blocks; i < N * (b + 1) / blocks; ++i) {
      batch.build(i, graph);
      log_z(static_cast<size_t>(i)) = paths.forward(graph);
      paths.posteriors(graph);
      const int64_t first = batch.offsets(static_cast<size_t>(i));
      const auto n_exon = static_cast<int64_t>(exon.shape(1));
      add_posteriors(graph, paths, 0,
                     {content.data() + first * kContents, sites.data() + (first + i) * kSites}, sums.data(),
                     n_exon, sums.data() + exon.size(), cover);
      if (content2)
        add_posteriors(graph, paths, 1,
                       {content2->data() + first * kContents, sites2->data() + (first + i) * kSites},
                       sums.data(), n_exon, sums.data() + exon.size(), cover);
    }
  });
  for (const std::vector<double>& sums : lengths) {
    for (size_t k = 0; k < exon.size(); ++k) exon.data()[k] += sums[k];
    for (size_t k = 0; k < intron.size(); ++k) intron.data()[k] += sums[exon.size() + k];
  }
}

// Returns the segments of the best structures, [n, 6]: sequence, strand, kind, begin, end (both on the
// strand), frame; from left to right in each sequence. And for each segment [n, 2]: its posterior (of an exon
// in its frame, whatever its kind), and that of its arc given the node on its left.
auto best(const Batch& batch, bool scored, int n_threads) {
  const int64_t N = batch.n_sequences();
  std::vector<std::vector<int32_t>> segments(static_cast<size_t>(N));
  std::vector<std::vector<double>> scores(static_cast<size_t>(N));
  {
    const Unlocked release;
    parallel_for(static_cast<int>(N), n_threads, [&](int b, int) {
      GeneGraph graph;
      GenePaths paths;
      std::vector<int32_t> path;
      batch.build(b, graph);
      paths.best(graph, path);
      if (scored) {
        paths.forward(graph);
        paths.posteriors(graph);
      }
      // An exon may be several arcs: of different kinds, or after introns that cut different codons.
      auto key = [&](const Arc& arc) {
        const auto place = static_cast<uint64_t>(arc.begin) << 32 | static_cast<uint32_t>(arc.end);
        const bool is_intron = arc.kind == kIntron || arc.kind == kCutIntron;
        return place << 4 ^ place >> 60 ^
               static_cast<uint64_t>(arc.strand << 3 | (is_intron ? 3 : arc.frame));
      };
      std::unordered_map<uint64_t, double> whole;
      for (int32_t a : path) whole[key(graph.arcs[static_cast<size_t>(a)])] = 0;
      if (scored)
        for (size_t a = 0; a < graph.arcs.size(); ++a)
          if (paths.arc_p[a] > 0)
            if (auto it = whole.find(key(graph.arcs[a])); it != whole.end()) it->second += paths.arc_p[a];
      for (int32_t a : path) {
        const Arc& arc = graph.arcs[static_cast<size_t>(a)];
        const int32_t row[6] = {b, arc.strand, arc.kind, arc.begin, arc.end, arc.frame};
        segments[static_cast<size_t>(b)].insert(segments[static_cast<size_t>(b)].end(), row, row + 6);
        const double node = scored ? paths.node_p[static_cast<size_t>(arc.from)] : 0;
        scores[static_cast<size_t>(b)].push_back(whole[key(arc)]);
        scores[static_cast<size_t>(b)].push_back(node > 0 ? paths.arc_p[static_cast<size_t>(a)] / node : 0);
      }
    });
  }
  std::vector<double> numbers = joined(scores);
  const size_t n = numbers.size() / 2;
  return std::tuple(to_numpy(joined(segments), n, size_t{6}), to_numpy(std::move(numbers), n, size_t{2}));
}

}  // namespace

void bind_genes(nb::module_& m) {
  nb::class_<Batch>(m, "GeneBatch")
      .def(nb::init<Array<const int64_t>, Array<const uint8_t>, Array<const double, 2>,
                    Array<const double, 2>, std::optional<Array<const uint8_t>>,
                    std::optional<Array<const double, 2>>, std::optional<Array<const double, 2>>,
                    Array<const double, 2>, Array<const double>, int64_t, double, double>(),
           "offsets"_array, "codes"_array, "content"_array, "sites"_array, "codes2"_array, "content2"_array,
           "sites2"_array, "exon"_array, "intron"_array, "min_intron"_a, "split_stop"_a, "partial"_a)
      .def("posteriors", &posteriors, "log_z"_array, "content"_array, "sites"_array, "content2"_array,
           "sites2"_array, "exon"_array, "intron"_array, "n_threads"_a)
      .def("best", &best, "scored"_a, "n_threads"_a);
}

}  // namespace crfkit
