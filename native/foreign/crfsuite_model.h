// Reads CRFsuite's model files (.crfsuite).
//
// A file is a header of 48 bytes (magic, size, kind, version; number of features, labels and attributes;
// offsets of these, of LFRF and AFRF); the chunk FEAT with the features (type, source, label, weight); a
// dictionary of the labels and one of the attributes (cqdb.h); and the chunks LFRF and AFRF, which list the
// features of each label and each attribute. These lists are redundant and not read. Numbers are
// little-endian, nearly all of them 32 bits, so a file has at most 4 GiB.
#pragma once

#include "base/shortened.h"
#include "foreign/cqdb.h"
#include "foreign/foreign_model.h"

namespace crfkit {

inline bool is_crfsuite_model(std::string_view start) { return start.substr(0, 4) == "lCRF"; }

inline ForeignModel read_crfsuite_model(std::string_view file) {
  constexpr size_t kHeader = 48, kChunk = 12, kFeature = 20;
  constexpr uint32_t kVersion = 100, kState = 0, kTransition = 1;
  if (file.size() < kHeader || !is_crfsuite_model(file)) {
    throw Damage("it is not a CRFsuite model, or cut off within its header");
  }
  const auto u32 = [file](size_t at) { return uint64_t{load_word<uint32_t>(file.data() + at)}; };
  if (file.substr(8, 4) != "FOMC" || u32(12) != kVersion) {
    throw Damage("it has type " + quoted(file.substr(8, 4)) + " and version " + std::to_string(u32(12)) +
                 ", expected 'FOMC' and " + std::to_string(kVersion));
  }
  if (u32(4) != file.size()) {
    throw Damage(std::string("it is ") + (file.size() < u32(4) ? "cut off" : "too long") + ": " +
                 std::to_string(u32(4)) + " bytes expected, " + std::to_string(file.size()) + " found");
  }
  const uint64_t L = u32(20), A = u32(24);
  check_label_count(L, file.size());
  const auto dictionary = [&](uint64_t at, uint64_t n) {
    const std::string_view chunk = file.substr(std::min<uint64_t>(at, file.size()));
    return read_cqdb(reinterpret_cast<const uint8_t*>(chunk.data()), chunk.size(), n);
  };
  ForeignModel model;
  model.labels = dictionary(u32(32), L);
  model.attributes = dictionary(u32(36), A);

  const uint64_t at = u32(28);
  if (at + kChunk > file.size()) throw Damage("its features lie outside it");
  const uint64_t n = u32(at + 8);
  if (file.substr(at, 4) != "FEAT" || at + kChunk + kFeature * n > file.size()) {
    throw Damage("its features are missing or cut off");
  }
  std::vector<KeyedWeight> state, edges;
  state.reserve(n);
  for (uint64_t i = 0; i < n; ++i) {
    const size_t feature = at + kChunk + kFeature * i;
    const uint64_t type = u32(feature), source = u32(feature + 4), label = u32(feature + 8);
    const auto weight = std::bit_cast<double>(load_word<uint64_t>(file.data() + feature + 12));
    if (!std::isfinite(weight)) throw Damage("it has weights that are not finite");
    if (type > kTransition || label >= L || source >= (type == kState ? A : L)) {
      throw Damage("it has a feature of an unknown type, attribute or label");
    }
    (type == kState ? state : edges).push_back({static_cast<int64_t>(source * L + label), weight});
  }
  model.state = rows_of(std::move(state), static_cast<int64_t>(L), A);
  model.edge_mask.assign(L * L, 0);
  model.edge_weights.assign(L * L, 0.0);
  const FeatureRows table = rows_of(std::move(edges), static_cast<int64_t>(L), L);
  for (size_t k = 0; k < L; ++k) {
    for (auto f = static_cast<size_t>(table.indptr[k]); f < static_cast<size_t>(table.indptr[k + 1]); ++f) {
      const size_t place = k * L + static_cast<size_t>(table.columns[f]);
      model.edge_mask[place] = 1;
      model.edge_weights[place] = table.weights[f];
    }
  }
  return model;
}

}  // namespace crfkit
