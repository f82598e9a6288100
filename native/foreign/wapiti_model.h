// Reads Wapiti's text models.
//
//   #mdl#2#12              type (0 maxent, 1 MEMM, 2 CRF) and number of weights; old files have no type
//   #rdr#1/1/0             template lines, columns they need, whether attributes get a u in front
//   11:u:w:%x[0,0],        the template lines, as netstrings
//   #qrk#4                 labels
//   4:B-NP,
//   #qrk#31                attributes ("observations")
//   7:u:w:the,
//   4=0x1.798de8dfed4d8p-1 weights that are not zero
//
// An attribute that begins with u has a weight for each label, one with b for each pair of labels, one with *
// first the former, then the latter; the weights are in the order of the attributes.
//
// A maximum-entropy model is scored like a CRF and read as one. A MEMM is refused: its scores are normalised
// at each position, which no CRF weights can express.
#pragma once

#include "foreign/model_text.h"

namespace crfkit {

inline bool is_wapiti_model(std::string_view start) { return start.starts_with("#mdl#"); }

// The numbers of a line such as #mdl#2#12. Each is written with its separator in front.
class WapitiLine {
 public:
  WapitiLine(TextReader* text, std::string_view name, const char* expected) : text_(text) {
    text_->skip_blanks();
    line_ = text_->word();
    rest_ = line_;
    if (!rest_.starts_with(name)) fail(expected);
    rest_.remove_prefix(name.size());
    expected_ = expected;
  }

  bool has(char separator) const { return rest_.starts_with(separator); }

  // Reads a number of at most so many digits: no overflow later.
  uint64_t number(char separator, size_t digits) {
    size_t n = 1;
    uint64_t value = 0;
    for (; n < rest_.size() && rest_[n] >= '0' && rest_[n] <= '9' && n <= digits; ++n) {
      value = value * 10 + static_cast<uint64_t>(rest_[n] - '0');
    }
    if (!has(separator) || n == 1) fail(expected_);
    rest_.remove_prefix(n);
    return value;
  }

  void end() {
    if (!rest_.empty() || text_->done()) fail(expected_);
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw Damage(std::string("expected ") + expected + ", got " + quoted(line_));
  }

  TextReader* text_;
  std::string_view line_, rest_;
  const char* expected_ = "";
};

// Returns a template line with a small first letter, as templates are parsed.
inline std::string wapiti_template_line(std::string_view line) {
  // More than one line, or a comment, would become a different template when parsed again.
  if (line.empty() || line.find_first_of("\n#") != std::string_view::npos) {
    throw Damage(quoted(line) + " is not a template line");
  }
  std::string text(line);
  if (text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

// Whether a template line has a pattern: patterns match bytes, so a match may be a part of a character.
inline bool has_pattern(std::string_view line) {
  for (size_t at = line.find('%'); at < line.size(); at = line.find('%', at + 1)) {
    if (at + 1 < line.size() && std::string_view("mMtT").find(line[at + 1]) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

inline ForeignModel read_wapiti_model(std::string_view file) {
  constexpr uint64_t kMemm = 1, kCrf = 2;
  constexpr size_t kLong = 18, kShort = 9;  // digits
  TextReader text(reinterpret_cast<const uint8_t*>(file.data()), file.size(), 0);
  ForeignModel model;
  model.dialect = "wapiti";

  WapitiLine first(&text, "#mdl", "the first line of a Wapiti model, #mdl#type#weights");
  uint64_t kind = kCrf, n_weights = first.number('#', kLong);
  if (first.has('#')) {
    kind = n_weights;
    n_weights = first.number('#', kLong);
  }
  first.end();
  if (kind > kCrf) throw Damage("it is of type " + std::to_string(kind) + ", which Wapiti does not have");
  if (kind == kMemm) {
    throw Damage(
        "it is a maximum-entropy Markov model (MEMM), whose scores are normalised at each position, which a "
        "CRF cannot do. Train it again with --type crf");
  }
  WapitiLine reader(&text, "#rdr", "#rdr#lines/columns/flag");
  const uint64_t n_lines = reader.number('#', kLong);
  reader.number('/', kShort);
  // Whether Wapiti has put the letter before the attributes; then it is not part of them.
  const bool lettered = reader.has('/') && reader.number('/', 1) == 1;
  reader.end();
  const Names lines = read_netstrings(&text, n_lines);
  for (size_t i = 0; i < lines.size(); ++i) {
    model.template_lines.add(wapiti_template_line(lines[i]));
    model.cut |= has_pattern(lines[i]);
  }
  const auto names = [&text](const char* expected) {
    WapitiLine line(&text, "#qrk", expected);
    const uint64_t n = line.number('#', kLong);
    line.end();
    return read_netstrings(&text, n);
  };
  model.labels = names("#qrk#labels");
  check_label_count(model.labels.size(), file.size());
  const Names attributes = names("#qrk#attributes");
  std::vector<KeyedWeight> weights = read_weights(&text, n_weights);
  // Every line has an end; without it, the last number may lack digits.
  if (text.done()) throw Damage("it is cut off within its last line");
  const size_t rest = text.left();
  text.skip_blanks();
  if (!text.done()) {
    throw Damage(std::to_string(rest) + " bytes follow its " + std::to_string(n_weights) + " weights");
  }

  const auto L = static_cast<int64_t>(model.labels.size());
  const size_t A = attributes.size();
  if (static_cast<double>(L) * static_cast<double>(L) * static_cast<double>(A + 1) >= 0x1p61) {
    throw Damage("it has an impossible number of weights");
  }
  WeightBlocks blocks{std::vector<int64_t>(A, -1), std::vector<int64_t>(A, -1)};
  int64_t next = 0;
  for (size_t a = 0; a < A; ++a) {
    const std::string_view name = attributes[a];
    if (name.empty()) throw Damage("it has an empty attribute");
    const char letter = name[0];
    if (letter != 'u' && letter != 'b' && letter != '*') {
      throw Damage("it has an attribute that begins with none of u, b and *");
    }
    if (letter != 'b') {
      blocks.state[a] = next;
      next += L;
    }
    if (letter != 'u') {
      blocks.pair[a] = next;
      next += L * L;
    }
    model.attributes.add(lettered ? name.substr(1) : name);
  }
  read_blocks(blocks, std::move(weights), &model);
  return model;
}

}  // namespace crfkit
