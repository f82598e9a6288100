// Reads CRF++'s models, text (crf_learn -t) and binary.
//
// Both hold the labels, the template lines, and for each attribute the place of its first weight. An
// attribute that begins with U has one weight per label. One that begins with B has one weight per pair of
// labels, ordered by the previous label.
//
// Text: "name: value" lines, labels, template, lines "place attribute", weights, with an empty line between.
// Binary: version, type, cost factor, number of weights, columns, bytes of the dictionary; labels and
// template lines, each list with its size and each string with a NUL; a double array for the attributes
// (double_array.h); weights in single precision. The byte order is that of the machine, in practice
// little-endian.
//
// The cost factor is not used: crf_learn always writes 1, and crf_test multiplies scores by its own option -c
// (default 1), not by the value in the file.
#pragma once

#include "foreign/double_array.h"
#include "foreign/model_text.h"

namespace crfkit {

inline constexpr uint64_t kCrfppVersion = 100, kCrfppVersions = 200;  // what CRF++ itself accepts
inline constexpr size_t kCrfppHeader = 32;                            // bytes of a binary file

inline bool is_binary_crfpp(std::string_view start) {
  if (start.size() < kCrfppHeader) return false;
  const uint32_t version = load_word<uint32_t>(start.data()), type = load_word<uint32_t>(start.data() + 4);
  const auto cost_factor = std::bit_cast<double>(load_word<uint64_t>(start.data() + 8));
  return version >= kCrfppVersion && version < kCrfppVersions && type == 0 && cost_factor > 0 &&
         std::isfinite(cost_factor);
}

inline bool is_text_crfpp(std::string_view start) { return start.starts_with("version: "); }

inline bool is_crfpp_model(std::string_view start) { return is_text_crfpp(start) || is_binary_crfpp(start); }

// The content of either kind of file.
struct CrfppParts {
  uint64_t n_weights = 0;  // as announced
  Names labels, template_lines, attributes;
  std::vector<int64_t> starts;  // [A] where the weights of each attribute begin
  std::vector<double> weights;  // [n_weights]
};

// Reads the lines of a section up to an empty line.
inline Names read_section(TextReader* text) {
  Names lines;
  while (true) {
    const bool complete = text->has_line();
    const std::string_view line = text->line();
    if (!complete) throw Damage("it is cut off before its list of attributes");
    if (line.empty()) return lines;
    lines.add(line);
  }
}

// Returns the number after "key: " in the header of a text file.
inline uint64_t header_number(const Names& header, const std::string& key) {
  std::string_view digits;
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i].starts_with(key + ": ")) digits = header[i].substr(key.size() + 2);
  }
  const bool sound = !digits.empty() && digits.size() <= 18 &&
                     digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!sound) throw Damage("its header lacks '" + key + "'");
  return static_cast<uint64_t>(
      TextReader(reinterpret_cast<const uint8_t*>(digits.data()), digits.size(), 0).number());
}

inline CrfppParts read_crfpp_text(std::string_view file) {
  TextReader text(reinterpret_cast<const uint8_t*>(file.data()), file.size(), 0);
  CrfppParts parts;
  const Names header = read_section(&text);
  const uint64_t version = header_number(header, "version");
  if (version < kCrfppVersion || version >= kCrfppVersions) {
    throw Damage("it has version " + std::to_string(version) + ", expected 100");
  }
  parts.labels = read_section(&text);
  parts.template_lines = read_section(&text);
  parts.attributes = read_numbered(&text, &parts.starts);
  // Without the end of the last line, its number may lack digits.
  if (!file.ends_with('\n')) throw Damage("it is cut off within its last line");
  for (text.skip_blanks(); !text.done(); text.skip_blanks()) {
    double weight = 0;
    const NumberText read = parse_number(text.word(), &weight);
    if (read == NumberText::malformed) throw Damage("its list of weights is damaged");
    if (read == NumberText::not_finite) throw Damage("it has weights that are not finite");
    parts.weights.push_back(weight);
  }
  parts.n_weights = header_number(header, "maxid");
  return parts;
}

// Cuts strings that end in NUL.
inline Names c_strings(std::string_view content, bool keep_empty) {
  if (!content.empty() && content.back() != '\0') throw Damage("a list of strings in it is cut off");
  Names strings;
  while (!content.empty()) {
    const size_t end = content.find('\0');
    if (end > 0 || keep_empty) strings.add(content.substr(0, end));
    content.remove_prefix(end + 1);
  }
  return strings;
}

inline CrfppParts read_crfpp_binary(std::string_view file) {
  if (!is_binary_crfpp(file)) throw Damage("it is not a CRF++ model, or cut off");
  const auto u32 = [file](uint64_t at) {
    return at + 4 <= file.size() ? uint64_t{load_word<uint32_t>(file.data() + at)} : 0;
  };
  CrfppParts parts;
  parts.n_weights = u32(16);
  const uint64_t dictionary = u32(24), labels = u32(28);
  const uint64_t labels_at = 32, template_at = labels_at + labels + 4;
  const uint64_t dictionary_at = template_at + u32(template_at - 4);
  const uint64_t weights_at = dictionary_at + dictionary, end = weights_at + 4 * parts.n_weights;
  if (end != file.size() || dictionary % 8 != 0) {
    throw Damage("it is cut off or damaged: " + std::to_string(end) + " bytes expected, " +
                 std::to_string(file.size()) + " found");
  }
  parts.labels = c_strings(file.substr(labels_at, labels), true);
  parts.template_lines = c_strings(file.substr(template_at, dictionary_at - template_at), false);  // padded
  DoubleArrayEntries entries =
      read_double_array(reinterpret_cast<const uint8_t*>(file.data()) + dictionary_at, dictionary / 8);
  parts.attributes = std::move(entries.keys);
  parts.starts = std::move(entries.values);
  parts.weights.reserve(parts.n_weights);
  for (uint64_t i = 0; i < parts.n_weights; ++i) {
    parts.weights.push_back(std::bit_cast<float>(load_word<uint32_t>(file.data() + weights_at + 4 * i)));
  }
  return parts;
}

inline ForeignModel read_crfpp_model(std::string_view file) {
  CrfppParts parts = is_text_crfpp(file) ? read_crfpp_text(file) : read_crfpp_binary(file);
  check_label_count(parts.labels.size(), file.size());
  if (parts.weights.size() != parts.n_weights) {
    throw Damage("it announces " + std::to_string(parts.n_weights) + " weights and has " +
                 std::to_string(parts.weights.size()));
  }
  const auto L = static_cast<int64_t>(parts.labels.size());
  const size_t A = parts.attributes.size();
  WeightBlocks blocks{std::vector<int64_t>(A, -1), std::vector<int64_t>(A, -1)};
  for (size_t a = 0; a < A; ++a) {
    const std::string_view name = parts.attributes[a];
    if (name.empty()) throw Damage("it has an empty attribute");
    const bool paired = name[0] == 'B';
    if (!paired && name[0] != 'U') throw Damage("it has an attribute that begins with neither U nor B");
    if (parts.starts[a] + (paired ? L * L : L) > static_cast<int64_t>(parts.n_weights)) {
      throw Damage("it has an attribute whose weights lie outside the list");
    }
    (paired ? blocks.pair : blocks.state)[a] = parts.starts[a];
  }
  for (size_t i = 0; i < parts.template_lines.size(); ++i) {
    const std::string_view line = parts.template_lines[i];
    if ((line[0] != 'U' && line[0] != 'B') || line.find('\n') != std::string_view::npos) {
      throw Damage(quoted(line) + " is not a template line");
    }
  }
  ForeignModel model;
  model.dialect = "crf++";
  model.labels = std::move(parts.labels);
  model.template_lines = std::move(parts.template_lines);
  model.attributes = std::move(parts.attributes);
  std::vector<KeyedWeight> weights;
  for (size_t i = 0; i < parts.weights.size(); ++i) {
    if (parts.weights[i] != 0) weights.push_back({static_cast<int64_t>(i), parts.weights[i]});
  }
  read_blocks(blocks, std::move(weights), &model);
  return model;
}

}  // namespace crfkit
