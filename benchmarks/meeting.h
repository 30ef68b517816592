// The meeting of ranks between samples. It is the same for all libraries, so that no library gains
// by the way its own barrier releases ranks. Ranks are processes, or threads of one; they share a
// page of memory.
#pragma once

#include <cstdint>
#include <string>

namespace bench {

// One rank's view. Not thread safe: one a rank.
class Meeting {
 public:
  // `file` is what the job says. Throws std::system_error.
  Meeting(const std::string& file, int rank, int ranks);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  // Returns when all ranks have called it. Ranks spin; where they outnumber cores they yield.
  void wait();
  // Seconds of one, while ranks do nothing else: how far their cores are from each other now. The
  // median of some turns; 0 where ranks outnumber cores. All ranks call it.
  double seconds();
  // Rank 0's number, on all.
  std::int64_t agree(std::int64_t mine);
  // The largest number, on all.
  std::int64_t largest(std::int64_t mine);

 private:
  struct Page;
  Page* page_;
  int rank_, ranks_;
  bool crowded_;
};

// Keeps the calling thread on the core of its rank: the r-th that the process may use, round
// robin. With more ranks than cores the kernel places them.
void pin(int rank, int ranks);

}  // namespace bench
