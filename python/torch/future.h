// A collective's future, as Python sees it: a torch.futures.Future whose callbacks run in order.
#pragma once

#include <ATen/core/ivalue.h>
#include <pybind11/pybind11.h>

#include <string>

namespace weft::torch_adapter {

// A weft.torch_future.Future. `group` names the process group whose collective completes it.
// Under the GIL.
pybind11::object make_future(c10::intrusive_ptr<c10::ivalue::Future> future,
                             const std::string& group);

// Its methods, as functions of the module.
void bind_future(pybind11::module_& m);

}  // namespace weft::torch_adapter
