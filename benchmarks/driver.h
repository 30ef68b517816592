// The loop that measures a library, the same for all of them: cases in, samples out. A library is
// one file that implements `Library` and a main.
//
// A sample: the input's owner rewrites it, ranks meet, each times the operation, ranks meet. The
// time of a batch is the mean. It includes the rewriting before all operations but the first.
// Results are
// compared with the exact values now and then, outside of the timed part.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "job.h"
#include "meeting.h"

namespace bench {

// One rank of a library under measurement. Used by one thread.
class Library {
 public:
  virtual ~Library() = default;
  // Memory for one side of a case, not yet touched. By default of the heap, aligned to a page.
  virtual std::shared_ptr<void> allocate(std::size_t bytes);
  // The operation that operate() does from now on. input == output for collectives in place
  // (job.h). Null
  // where a rank has none. Throws if the library does not have it.
  virtual void bind(const Case& c, const void* input, void* output) = 0;
  // The algorithm that it chose; empty if it does not say.
  virtual std::string algorithm() const { return {}; }
  virtual void operate() = 0;
  // The library's own: nothing of an operation is under way after it.
  virtual void barrier() = 0;
};

// Measures all cases of `job` on this rank, and writes `directory`/samples.RANK, one line a case:
//   INDEX 1|0 ALGORITHM|- apart=SECONDS SECONDS SECONDS ...
// The second word says whether all was right, the fourth what a meeting took, before or after,
// whichever was longer; 0 where ranks outnumber cores.
void measure(Library& library, const Job& job, int rank, const std::string& directory);

// For main(): runs `body`; on an exception prints "rank R: Type: text" and ends the process with 1
// at once, since peers may wait for this rank for ever.
int guarded(int rank, const std::function<void()>& body);

}  // namespace bench
