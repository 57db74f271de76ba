// Text that must stay secret: keys, tokens, URIs of upload sessions.
#pragma once

#include <string.h>

#include <string>
#include <utility>

namespace pipeline {

/// Cannot get into a message by mistake: it has no conversions, cannot be printed, and StrCat does not
/// accept it. The destructor overwrites the text.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : text_(other.text_) { other.Forget(); }
  Secret& operator=(const Secret& other) {
    if (this == &other) return *this;
    Forget();
    text_ = other.text_;
    return *this;
  }
  Secret& operator=(Secret&& other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~Secret() { Forget(); }

  bool operator==(const Secret&) const = default;
  bool empty() const { return text_.empty(); }
  /// For sending, signing, or writing to a file of mode 0600.
  const std::string& Reveal() const { return text_; }

 private:
  void Forget() {
    explicit_bzero(text_.data(), text_.size());
    text_.clear();
  }
  std::string text_;
};

}  // namespace pipeline
