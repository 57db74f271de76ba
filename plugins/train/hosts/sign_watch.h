// Tells from the cards of one host whether it lives, by the clock of this machine alone. hosts.md, section 5.
#pragma once

#include <chrono>
#include <optional>

#include "plugins/train/hosts/host_card.h"

namespace pipeline {

/// One host. One thread at a time.
class SignWatch {
 public:
  using Time = std::chrono::nanoseconds;

  /// `given_up`: a card without a change for so long no longer counts.
  SignWatch(Time given_up, Time now) : given_up_(given_up), changed_(now) {}

  /// Notes a card that was read; `now` is after the read. Absent, or without a nonce: there was none, or
  /// nobody could read it.
  void Saw(const std::optional<HostCard>& card, Time now) {
    if (!card || card->nonce.empty()) return;  // a failed read is no news: the time decides
    if (!card_ || card_->nonce != card->nonce || card_->sign != card->sign) {
      // The first card may be that of a dead host.
      moved_ = card_.has_value();
      changed_ = now;
    }
    card_ = card;
  }

  /// True if the sign changed during this watch, and not longer than `given_up` ago.
  bool Fresh(Time now) const { return moved_ && now - changed_ <= given_up_; }
  /// The time since the last change, or since the watch began.
  Time SilentFor(Time now) const { return now - changed_; }
  /// The newest card; absent: none was read yet.
  const std::optional<HostCard>& card() const { return card_; }

 private:
  const Time given_up_;
  Time changed_;        // when the sign was first read as it is
  bool moved_ = false;  // the sign changed during this watch
  std::optional<HostCard> card_;
};

}  // namespace pipeline
