// How the members of a new communicator learn of each other.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "weft/store.h"

namespace weft {

// A rank's word at a step, or its failure. It tells the others either of them, so that all ranks
// end soon, with one cause.
class Word {
 public:
  // Takes the result of `make`, or the Error that it throws.
  explicit Word(const std::function<std::string()>& make);
  // The word of a rank, as it was told.
  static std::string read(const std::string& told, int rank);  // throws its Error, naming the rank

  const std::string& told() const { return told_; }
  bool failed() const { return failed_; }

 private:
  std::string told_;
  bool failed_ = false;
};

// Gives this rank's words to all, returns everyone's in rank order. Collective. `what`
// names the step, for errors. A rank that `leaves` next need not hear the others.
using Exchange = std::function<std::vector<std::string>(const std::string& what,
                                                        const std::string& mine, bool leaves)>;

// Gives a word to all, returns theirs. Throws the failure of this rank `me`, else that of the first
// rank that failed.
std::vector<std::string> exchange_word(const Exchange& exchange, const std::string& what, int me,
                                       const Word& mine);

// Through the launcher's store. Throws Timeout naming all ranks that did not come.
Exchange exchange_through(std::shared_ptr<Store> store, int rank, int size,
                          Clock::time_point deadline);

// Opens `count` endpoints among the members at `addresses` and connects them. If one member cannot
// reach another, all throw what it says.
std::vector<std::unique_ptr<Endpoint>> open_endpoints(Fabric& fabric, int count,
                                                      const std::vector<std::string>& addresses,
                                                      int me, const Exchange& exchange,
                                                      Clock::time_point deadline);

// For a rank that could not connect, in a handler: tells the others why. It stays until they have
// ended, too, for at most a second. If it left at once, they would report that it left instead.
// Throws the peer's failure, if only the loss of that peer is known here; else the handled error.
[[noreturn]] void end_together(Store& store, int rank, int size);

// Several words in one, each of any bytes.
std::string join_words(const std::vector<std::string>& words);
// Throws InvalidArgument if they were not joined so.
std::vector<std::string> split_words(const std::string& joined);
// The same, of words that are `count`.
std::vector<std::string> split_words(const std::string& joined, std::size_t count);

}  // namespace weft
