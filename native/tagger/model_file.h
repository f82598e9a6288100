// Reads crfkit's own model files: a JSON header and named arrays (docs/model-file.md). The arrays stay where
// they are, so the bytes must outlive the reader. Checks and messages are those of io/model_file.py.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "base/json.h"
#include "base/names.h"
#include "base/shortened.h"
#include "ingest/vocabulary.h"

namespace crfkit {

inline constexpr std::string_view kModelMagic =
    "\x89"
    "CRFKIT\n";

// An element type of arrays in a file.
struct ElementType {
  std::string_view name;
  size_t size;
};

inline constexpr std::array<ElementType, 11> kElementTypes = {{{"bool", 1},
                                                               {"int8", 1},
                                                               {"uint8", 1},
                                                               {"int16", 2},
                                                               {"uint16", 2},
                                                               {"int32", 4},
                                                               {"uint32", 4},
                                                               {"int64", 8},
                                                               {"uint64", 8},
                                                               {"float32", 4},
                                                               {"float64", 8}}};

template <class T>
constexpr std::string_view type_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
  if constexpr (std::is_same_v<T, int16_t>) return "int16";
  if constexpr (std::is_same_v<T, uint16_t>) return "uint16";
  if constexpr (std::is_same_v<T, int32_t>) return "int32";
  if constexpr (std::is_same_v<T, uint32_t>) return "uint32";
  if constexpr (std::is_same_v<T, int64_t>) return "int64";
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
}

struct StoredArray {
  ElementType type;
  std::vector<uint64_t> shape;
  const char* data;
  size_t bytes;

  // As Python writes them: "float64 (3, 4)".
  std::string described() const {
    std::string text(type.name);
    text += " (";
    for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + (shape.size() == 1 ? ",)" : ")");
  }
};

class ModelFile {
 public:
  static constexpr uint32_t kVersion = 1, kNgrams = 3;
  static constexpr uint64_t kAny = ~uint64_t{0};  // in a shape: any length

  // The bytes must be aligned to 8.
  explicit ModelFile(std::string_view file) : file_(file) {
    if constexpr (std::endian::native == std::endian::big) {
      throw Damage("this reader needs a machine with little-endian numbers");
    }
    read_preamble();
    const size_t end = kPreamble + json_size_;
    const std::string_view text = file.substr(kPreamble, json_size_);
    if (crc32(text) != json_crc_) throw Damage("the checksum of its header is wrong");
    std::optional<Json> content;
    try {
      content = Json::parse(text);
    } catch (const Damage& problem) {
      throw Damage(std::string("its header is not acceptable JSON (") + problem.what() + ")");
    }
    if (!content->is_object()) throw Damage("its header is not a JSON object");
    header_ = content->member("header");
    const std::optional<Json> table = content->member("arrays");
    if (!header_ || !header_->is_object() || !table || !table->is_array()) {
      throw Damage("its header lacks 'header' or 'arrays'");
    }
    read_arrays(*table, end);
  }

  const Json& header() const { return *header_; }
  bool has(std::string_view name) const { return arrays_.contains(name); }

  // Returns an array of this type and shape. Real numbers must be finite; with infinite, they may be
  // infinite, but not NaN.
  template <class T>
  std::span<const T> take(std::string_view name, const std::vector<uint64_t>& shape,
                          bool infinite = false) const {
    const auto at = arrays_.find(name);
    const StoredArray* found = at == arrays_.end() ? nullptr : &at->second;
    bool fits = found != nullptr && found->type.name == type_name<T>() && found->shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = shape[i] == kAny || shape[i] == found->shape[i];
    if (!fits) {
      std::string expected;
      for (const uint64_t n : shape) {
        expected += (expected.empty() ? "" : ", ") + (n == kAny ? "any" : std::to_string(n));
      }
      throw Damage("expected an array " + quoted(name) + " of " + std::string(type_name<T>()) + " (" +
                   expected + "), got " + (found == nullptr ? "none" : found->described()));
    }
    const std::span<const T> array{reinterpret_cast<const T*>(found->data), found->bytes / sizeof(T)};
    if constexpr (std::is_floating_point_v<T>) {
      const bool sound = std::all_of(array.begin(), array.end(), [infinite](T x) {
        return infinite ? !std::isnan(x) : std::isfinite(x);
      });
      if (!sound) throw Damage(quoted(name) + " holds numbers that are not finite");
    }
    return array;
  }

 private:
  static constexpr size_t kPreamble = 64, kAlignment = 64, kMostDimensions = 8;
  static constexpr uint64_t kLargestHeader = uint64_t{64} << 20;

  static uint64_t aligned(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }
  static bool all_zero(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
  }

  void read_preamble() {
    if (!file_.starts_with(kModelMagic)) {
      throw Damage("it is not a crfkit model (its first bytes are wrong)");
    }
    if (file_.size() < kPreamble) {
      throw Damage("it is cut off after " + std::to_string(file_.size()) + " bytes");
    }
    const char* p = file_.data();
    const auto version = load_word<uint32_t>(p + 8);
    json_crc_ = load_word<uint32_t>(p + 12);
    json_size_ = load_word<uint64_t>(p + 16);
    const auto total = load_word<uint64_t>(p + 24);
    if (crc32(file_.substr(0, kPreamble - 4)) != load_word<uint32_t>(p + 60)) {
      throw Damage("the checksum of its first 64 bytes is wrong");
    }
    if (version < kVersion || version > kNgrams) {
      throw Damage("it has format version " + std::to_string(version) + ", this crfkit reads versions " +
                   std::to_string(kVersion) + " to " + std::to_string(kNgrams) +
                   (version > kNgrams ? "; install a newer crfkit" : ""));
    }
    if (!all_zero(file_.substr(32, 28)) || json_size_ > kLargestHeader || kPreamble + json_size_ > total) {
      throw Damage("its sizes are impossible (" + std::to_string(json_size_) +
                   " bytes of header in a file of " + std::to_string(total) + ")");
    }
    if (file_.size() != total) {
      throw Damage(std::string("it is ") + (file_.size() < total ? "cut off" : "too long") + ": " +
                   std::to_string(total) + " bytes expected, " + std::to_string(file_.size()) + " found");
    }
  }

  void read_arrays(const Json& table, uint64_t end) {
    const uint64_t data_start = aligned(end), total = file_.size();
    table.for_each([&](const Json& entry) {
      const auto [name, array, relative, crc] = checked_entry(entry);
      uint64_t size = array.type.size;
      for (const uint64_t extent : array.shape) size *= extent;
      const std::string where = "array " + quoted(name);
      if (arrays_.contains(name)) throw Damage(where + " comes twice");
      const uint64_t offset = data_start + relative;
      if (offset != aligned(end) || offset > total || size > total - offset) {
        throw Damage(where + " does not lie where it should (offset " + std::to_string(relative) + ", " +
                     std::to_string(size) + " bytes)");
      }
      const std::string_view content = file_.substr(offset, size);
      if (!all_zero(file_.substr(end, offset - end))) {
        throw Damage("the padding before " + where + " is not zero");
      }
      if (crc32(content) != crc) throw Damage("the checksum of " + where + " is wrong");
      if (array.type.name == "bool" &&
          std::any_of(content.begin(), content.end(), [](char c) { return c != 0 && c != 1; })) {
        throw Damage(where + " has bools other than 0 and 1");
      }
      StoredArray stored = array;
      stored.data = content.data();
      stored.bytes = size;
      arrays_.emplace(name, std::move(stored));
      end = offset + size;
    });
    const uint64_t rest = std::max(end, data_start);
    if (rest != total) {
      throw Damage(std::to_string(static_cast<int64_t>(total - rest)) +
                   " unknown bytes follow its last array");
    }
    if (!all_zero(file_.substr(end, rest - end))) {
      throw Damage("the padding after its header is not zero");
    }
  }

  static std::tuple<std::string, StoredArray, uint64_t, int64_t> checked_entry(const Json& entry) {
    if (!entry.is_object()) throw Damage("its table of arrays is malformed");
    const auto name = entry.member("name"), dtype = entry.member("dtype"), shape = entry.member("shape");
    const auto offset = entry.member("offset"), crc = entry.member("crc32");
    const std::string title = name && name->is_string() ? name->string() : "None";
    StoredArray array{{"", 0}, {}, nullptr, 0};
    bool sound = name && name->is_string() && dtype && dtype->is_string() && shape && shape->is_array() &&
                 offset && offset->integer().value_or(-1) >= 0 && crc && crc->integer();
    if (sound) {
      const std::string wanted = dtype->string();
      for (const ElementType& type : kElementTypes) {
        if (type.name == wanted) array.type = type;
      }
      double product = 1;
      shape->for_each([&](const Json& extent) {
        const int64_t n = extent.integer().value_or(-1);
        sound &= n >= 0 && n < int64_t{1} << 40;
        if (n > 0) product *= static_cast<double>(n);
        array.shape.push_back(static_cast<uint64_t>(n));
      });
      sound &= array.type.size > 0 && array.shape.size() <= kMostDimensions && product < 0x1p60;
    }
    if (!sound) throw Damage("its table of arrays is malformed at " + quoted(title));
    return {title, array, static_cast<uint64_t>(*offset->integer()), *crc->integer()};
  }

  std::string_view file_;
  uint32_t json_crc_ = 0;
  uint64_t json_size_ = 0;
  std::optional<Json> header_;
  std::map<std::string, StoredArray, std::less<>> arrays_;
};

// Throws unless rows that end at `ends` [R + 1] hold the ids, all of them in 0 .. width - 1.
inline void check_rows(std::span<const int64_t> ends, std::span<const int32_t> ids, int64_t width,
                       const char* what) {
  bool sound = !ends.empty() && ends.front() == 0 && ends.back() == static_cast<int64_t>(ids.size()) &&
               std::is_sorted(ends.begin(), ends.end());
  for (const int32_t id : ids) sound &= id >= 0 && id < width;
  if (!sound) throw Damage(std::string(what) + " does not fit together");
}

}  // namespace crfkit
