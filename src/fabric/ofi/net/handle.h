// libfabric's objects, closed by their owner's end.
#pragma once

#include <rdma/fabric.h>

#include <memory>

#include "fabric/ofi/net/library.h"

namespace weft::ofi {

template <typename Object>
struct Close {
  void operator()(Object* object) const { fi_close(&object->fid); }
};
template <typename Object>
using Handle = std::unique_ptr<Object, Close<Object>>;

// The object that `open` makes through a pointer to its place. `call` names it in the error. Throws
// Unsupported.
template <typename Object, typename Open>
Handle<Object> opened(const char* call, Open open) {
  Object* object = nullptr;
  check(call, open(&object));
  return Handle<Object>(object);
}

}  // namespace weft::ofi
