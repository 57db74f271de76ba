// Texts that a plugin gives.
#pragma once

#include <string_view>

#include "plugins/plugin_abi.h"

namespace pipeline {

/// Valid as long as the bytes of `text`.
inline std::string_view ViewOf(pipe_text text) {
  return text.size == 0 || text.data == nullptr ? std::string_view() : std::string_view(text.data, text.size);
}

}  // namespace pipeline
