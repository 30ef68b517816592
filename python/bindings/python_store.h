// weft/store.h for Python: a directory, or any Python object with set and get.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "weft/store.h"

namespace nb = nanobind;

// A tuple is the directory and the part of a file_store. Any other object has
//   set(key: str, value: bytes) and get(key: str, seconds: float) -> bytes,
// and get raises weft.Timeout when the key is not there in time; it is called with the GIL taken
// again, from the thread that makes the communicator.
std::shared_ptr<weft::Store> store_of(nb::object store);
