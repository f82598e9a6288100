// The model formats of other tools. To add one: a header with is_x_model and read_x_model, a line here.
#pragma once

#include <span>

#include "foreign/crfpp_model.h"
#include "foreign/crfsuite_model.h"
#include "foreign/wapiti_model.h"

namespace crfkit {

struct ForeignFormat {
  std::string_view name;
  bool (*recognises)(std::string_view start);  // by the first bytes of a file
  ForeignModel (*read)(std::string_view file);
};

inline std::span<const ForeignFormat> foreign_formats() {
  static constexpr ForeignFormat kFormats[] = {
      {"crfsuite", is_crfsuite_model, read_crfsuite_model},
      {"wapiti", is_wapiti_model, read_wapiti_model},
      {"crf++", is_crfpp_model, read_crfpp_model},
  };
  return kFormats;
}

}  // namespace crfkit
