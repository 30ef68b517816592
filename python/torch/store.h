// torch's rendezvous store, as Weft's.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "weft/store.h"

namespace weft::torch_adapter {

// `store` is shared by the ranks of one group and by nothing else; `name` is that of one of its
// communicators. torchrun's store outlives its user. A store made again over it finds none of its
// old keys, if all ranks have made it equally often.
std::shared_ptr<Store> make_store(c10::intrusive_ptr<c10d::Store> store, int rank,
                                  const std::string& name);

}  // namespace weft::torch_adapter
