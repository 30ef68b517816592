// Ranks as threads of this process, each with a fabric of its own.
#include <atomic>
#include <thread>

#include "conformance/fabrics.h"
#include "fabric/inprocess/inprocess_fabric.h"
#include "support/ranks.h"
#include "weft/communicator.h"

namespace weft::testing {

// A new fabric is one line here.
const std::vector<FabricKind>& fabric_kinds() {
  static const std::vector<FabricKind> kinds = {
      {"shm", make_shm_fabric},
      {"inprocess", make_inprocess_fabric},
#if WEFT_OFI
      {"ofi", make_ofi_fabric},
      // Ranks in turn on two nodes, as far as their fabrics know.
      {"shm_ofi",
       [] {
         static std::atomic<int> made{0};
         return make_spanning_fabric(made.fetch_add(1) % 2 == 0 ? "even" : "odd");
       }},
#endif
  };
  return kinds;
}

bool ranks_are_threads() { return true; }

std::shared_ptr<Fabric> any_fabric() { return make_shm_fabric(); }

std::vector<std::exception_ptr> each_rank(int size, const RankBody& body) {
  const auto store = memory_store();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank, store);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace weft::testing
