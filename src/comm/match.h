// Matching of receives with what has been sent: by (source, tag), in the order sent; a
// receive from any source takes what arrived first. Knows no memory and no messages.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "weft/communicator.h"

namespace weft {

// A send as its receiver sees it before the data.
struct Envelope {
  int source = 0;
  int tag = 0;
  Signature signature;           // count and dtype; sequence is the sender's number for it
  std::vector<std::byte> eager;  // the payload, if it came along
};

// One thread. Receive is what the owner wants back when an envelope fits it.
template <typename Receive>
class Matcher {
 public:
  using Match = std::pair<Receive, Envelope>;

  std::optional<Match> arrived(Envelope envelope) {
    for (auto it = posted_.begin(); it != posted_.end(); ++it) {
      if (!fits(it->source, it->tag, envelope)) continue;
      Match match{std::move(it->receive), std::move(envelope)};
      posted_.erase(it);
      return match;
    }
    unexpected_.push_back(std::move(envelope));
    return std::nullopt;
  }

  std::optional<Match> posted(int source, int tag, Receive receive) {
    for (auto it = unexpected_.begin(); it != unexpected_.end(); ++it) {
      if (!fits(source, tag, *it)) continue;
      Match match{std::move(receive), std::move(*it)};
      unexpected_.erase(it);
      return match;
    }
    posted_.push_back({source, tag, std::move(receive)});
    return std::nullopt;
  }

  struct Posted {
    int source, tag;
    Receive receive;
  };
  const std::list<Posted>& waiting() const { return posted_; }
  // Takes all posted receives out, for their failure.
  std::list<Posted> clear() { return std::exchange(posted_, {}); }

 private:
  static bool fits(int source, int tag, const Envelope& envelope) {
    return tag == envelope.tag && (source == kAnySource || source == envelope.source);
  }

  std::list<Posted> posted_;        // in the order posted
  std::list<Envelope> unexpected_;  // in the order arrived
};

}  // namespace weft
