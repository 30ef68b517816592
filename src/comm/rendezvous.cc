#include "comm/rendezvous.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <typeinfo>

#include "base/duration_text.h"
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

[[noreturn]] void damaged() {
  throw InvalidArgument(
      "what a rank has said at the rendezvous is damaged: give each job a directory or store that "
      "nobody else writes to, and install the same version of Weft everywhere");
}

template <typename Kind>
void throw_if(const std::string& kind, const std::string& text) {
  if (kind == typeid(Kind).name()) throw Kind(text);
}

// The failure that a rank told; empty: it has told nothing.
std::string failure_of(Store& store, int rank, milliseconds patience) {
  try {
    return store.get(key("failed", rank), patience);
  } catch (const Error&) {
    return {};
  }
}

// A rank's word at a step; nothing: it did not come in time. Throws what it has failed with
// instead.
std::optional<std::string> word_of(Store& store, const std::string& what, int rank,
                                   Clock::time_point deadline) {
  constexpr milliseconds kSlice(500);
  for (;;) {
    const milliseconds rest = left(deadline);
    try {
      return store.get(key(what, rank), std::min(rest, kSlice));
    } catch (const Timeout&) {
    }
    const std::string failure = failure_of(store, rank, milliseconds(1));
    if (!failure.empty()) Word::read(failure, rank);
    if (rest <= kSlice) return {};
  }
}

// The deadline for connecting: who fails by then can still tell the others, who wait as long.
Clock::time_point earlier(Clock::time_point deadline) {
  const Clock::duration rest = deadline - Clock::now();
  return deadline - std::min<Clock::duration>(rest / 8, std::chrono::seconds(1));
}

}  // namespace

Word::Word(const std::function<std::string()>& make) {
  try {
    told_ = join_words({std::string(kWell), make()});
  } catch (const Error& error) {
    failed_ = true;
    told_ = join_words({typeid(error).name(), std::string(error.what()).substr(0, kMostText)});
  }
}

std::string Word::read(const std::string& told, int rank) {
  const std::vector<std::string> said = split_words(told, 2);
  if (said[0] == kWell) return said[1];
  const std::string who = "rank " + std::to_string(rank) + ": ";
  const std::string text = said[1].starts_with(who) ? said[1] : who + said[1];
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
  const auto patience =
      std::chrono::round<milliseconds>(std::max(deadline - Clock::now(), Clock::duration(0)));
  return [=](const std::string& what, const std::string& mine, bool leaves) {
    store->set(key(what, rank), mine);
    std::vector<std::string> all;
    if (leaves) return all;
    for (int peer = 0; peer < size; ++peer) {
      std::optional<std::string> word = mine;
      try {
        if (peer != rank) word = word_of(*store, what, peer, deadline);
      } catch (const Error&) {
        end_together(*store, rank, size);
      }
      if (!word)
        throw Timeout("rank " + std::to_string(rank) + " of " + std::to_string(size) +
                      " waited for rank(s) " + missing(*store, what, peer, size) +
                      ", which did not come to the rendezvous (" + what + ") within " +
                      duration_text(patience) + ": start them, or give a longer timeout");
      all.push_back(std::move(*word));
    }
    return all;
  };
}

void end_together(Store& store, int rank, int size) {
  const std::exception_ptr error = std::current_exception();
  const Clock::time_point until = Clock::now() + std::chrono::seconds(1);
  const Word mine([&]() -> std::string { std::rethrow_exception(error); });
  std::vector<std::string> words;
  try {
    store.set(key("failed", rank), mine.told());
  } catch (const Error&) {
    // The store is gone.
  }
  for (int peer = 0; peer < size; ++peer) words.push_back(failure_of(store, peer, left(until)));
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost&) {
    for (std::size_t peer = 0; peer < words.size(); ++peer) {
      if (!words[peer].empty() && split_words(words[peer]).at(0) != typeid(PeerLost).name())
        Word::read(words[peer], static_cast<int>(peer));
    }
    throw;
  }
}

std::string join_words(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += std::to_string(word.size()) + ":" + word;
  return joined;
}

std::vector<std::string> split_words(const std::string& joined) {
  std::vector<std::string> words;
  for (std::string_view rest = joined; !rest.empty();) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
    const auto colon = static_cast<std::size_t>(end - rest.data());
    if (error != std::errc() || colon == rest.size() || rest[colon] != ':' ||
        size > rest.size() - colon - 1)
      damaged();
    words.emplace_back(rest.substr(colon + 1, size));
    rest.remove_prefix(colon + 1 + size);
  }
  return words;
}

std::vector<std::string> split_words(const std::string& joined, std::size_t count) {
  std::vector<std::string> words = split_words(joined);
  if (words.size() != count) damaged();
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
    return join_words(tickets);
  });
  std::vector<std::vector<std::string>> theirs;
  for (const std::string& words : exchange_word(exchange, "lanes", me, mine))
    theirs.push_back(split_words(words, endpoints.size()));
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    std::vector<std::string> tickets;
    for (const auto& words : theirs) tickets.push_back(words[i]);
    endpoints[i]->connect(tickets, deadline);
  }
  return endpoints;
}

}  // namespace weft
