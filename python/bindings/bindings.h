// The parts that each file of this folder adds to the module. module.cc is the index.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "weft/communicator.h"

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_communicator(nb::module_& m);
void bind_window(nb::module_& m);
void bind_info(nb::module_& m);
void bind_collective(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_topology(nb::module_& m);
void bind_price(nb::module_& m);
void bind_select(nb::module_& m);
void bind_measure(nb::module_& m);
void bind_optim(nb::module_& m);

// The communicator in a weft._core.Communicator. Throws InvalidArgument if it is closed.
std::shared_ptr<weft::Communicator> communicator_of(nb::handle object);
