// The shared parts of the files of weft._simgrid.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "simulate/simulate.h"

namespace weft::simulate {

// Throws InvalidArgument.
Model model_of(const std::string& name);

// Binds training steps (src/simulate/training.h).
void bind_training_step(nanobind::module_& m);

}  // namespace weft::simulate
