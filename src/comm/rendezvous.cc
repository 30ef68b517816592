#include "comm/rendezvous.h"

#include <algorithm>
#include <typeinfo>

#include "weft/error.h"

namespace weft {

namespace {

using std::chrono::milliseconds;

milliseconds left(Clock::time_point deadline) {
  auto rest = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  return std::max(rest, milliseconds(1));
}

std::string key(const std::string& what, int rank) {
  return "weft/" + what + "/" + std::to_string(rank);
}

// Of the ranks from `first` on, which have not set their key.
std::string missing(Store& store, const std::string& what, int first, int size) {
  std::string names = std::to_string(first);
  for (int rank = first + 1; rank < size; ++rank) {
    try {
      store.get(key(what, rank), milliseconds(1));
    } catch (const Timeout&) {
      names += ", " + std::to_string(rank);
    }
  }
  return names;
}

constexpr std::string_view kWell = "well";
constexpr std::size_t kMostText = 700;  // of an error: words are short

template <typename Kind>
void throw_if(const std::string& kind, const std::string& text) {
  if (kind == typeid(Kind).name()) throw Kind(text);
}

// The deadline for connecting: who fails by then can still tell the others, who wait as long.
Clock::time_point earlier(Clock::time_point deadline) {
  const Clock::duration rest = deadline - Clock::now();
  return deadline - std::min<Clock::duration>(rest / 8, std::chrono::seconds(1));
}

}  // namespace

Word::Word(const std::function<std::string()>& make) {
  try {
    told_ = join({std::string(kWell), make()});
  } catch (const Error& error) {
    failed_ = true;
    told_ = join({typeid(error).name(), std::string(error.what()).substr(0, kMostText)});
  }
}

std::string Word::read(const std::string& told, int rank) {
  const std::vector<std::string> said = unjoin(told);
  if (said.at(0) == kWell) return said.at(1);
  const std::string text = "rank " + std::to_string(rank) + ": " + said.at(1);
  throw_if<InvalidArgument>(said[0], text);
  throw_if<Unsupported>(said[0], text);
  throw_if<PeerLost>(said[0], text);
  throw_if<Timeout>(said[0], text);
  throw_if<InternalError>(said[0], text);
  throw Error(text);
}

std::vector<std::string> exchange_word(const Exchange& exchange, const std::string& what, int me,
                                       const Word& mine) {
  std::vector<std::string> all = exchange(what, mine.told(), mine.failed());
  if (mine.failed()) Word::read(mine.told(), me);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    all[rank] = Word::read(all[rank], static_cast<int>(rank));
  return all;
}

Exchange exchange_through(std::shared_ptr<Store> store, int rank, int size,
                          Clock::time_point deadline) {
  return [=](const std::string& what, const std::string& mine, bool leaves) {
    store->set(key(what, rank), mine);
    std::vector<std::string> all;
    if (leaves) return all;
    for (int peer = 0; peer < size; ++peer) {
      try {
        all.push_back(peer == rank ? mine : store->get(key(what, peer), left(deadline)));
      } catch (const Timeout&) {
        throw Timeout("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                      " waited for rank(s) " + missing(*store, what, peer, size) +
                      ", which did not come to the rendezvous (" + what +
                      "): start them, or give a longer timeout");
      }
    }
    return all;
  };
}

void linger(Store& store, int rank, int size) {
  const Clock::time_point until = Clock::now() + std::chrono::seconds(1);
  try {
    store.set(key("failed", rank), "");
    for (int peer = 0; peer < size; ++peer) store.get(key("failed", peer), left(until));
  } catch (const Error&) {
    // Not all failed, or the store is gone.
  }
}

std::string join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += std::to_string(word.size()) + ":" + word;
  return joined;
}

std::vector<std::string> unjoin(const std::string& joined) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < joined.size();) {
    std::size_t colon = joined.find(':', at);
    if (colon == std::string::npos) throw InternalError("malformed rendezvous word");
    std::size_t size = std::stoul(joined.substr(at, colon - at));
    words.push_back(joined.substr(colon + 1, size));
    at = colon + 1 + size;
  }
  return words;
}

std::vector<std::unique_ptr<Endpoint>> open_endpoints(Fabric& fabric, int count,
                                                      const std::vector<std::string>& addresses,
                                                      int me, const Exchange& exchange,
                                                      Clock::time_point deadline) {
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  const Word mine([&] {
    std::vector<std::string> tickets;
    for (int i = 0; i < count; ++i) {
      endpoints.push_back(fabric.open(addresses, me, earlier(deadline)));
      tickets.push_back(endpoints.back()->ticket());
    }
    return join(tickets);
  });
  std::vector<std::vector<std::string>> theirs;
  for (const std::string& words : exchange_word(exchange, "lanes", me, mine))
    theirs.push_back(unjoin(words));
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    std::vector<std::string> tickets;
    for (const auto& words : theirs) tickets.push_back(words.at(i));
    endpoints[i]->connect(tickets, deadline);
  }
  return endpoints;
}

}  // namespace weft
