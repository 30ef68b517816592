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

// Gives this rank's words to all, returns everyone's in rank order. Collective. `what`
// names the step, for errors.
using Exchange =
    std::function<std::vector<std::string>(const std::string& what, const std::string& mine)>;

// Through the launcher's store. Throws Timeout naming all ranks that did not come.
Exchange exchange_through(std::shared_ptr<Store> store, int rank, int size,
                          Clock::time_point deadline);

// Opens `count` endpoints among the members at `addresses` and connects them.
std::vector<std::unique_ptr<Endpoint>> open_endpoints(Fabric& fabric, int count,
                                                      const std::vector<std::string>& addresses,
                                                      int me, const Exchange& exchange,
                                                      Clock::time_point deadline);

// Several words in one, each of any bytes.
std::string join(const std::vector<std::string>& words);
std::vector<std::string> unjoin(const std::string& joined);

}  // namespace weft
