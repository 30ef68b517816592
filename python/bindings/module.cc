// The module weft._core: one bind function a file, one file a public header.
#include "bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core. Use the package weft, which documents and checks.";
  // A program that ends by an error still holds objects. A list of them would bury the error.
  nb::set_leak_warnings(false);
  bind_errors(m);
  bind_memory(m);
  bind_communicator(m);
  bind_window(m);
  bind_info(m);
  bind_collective(m);
  bind_plan(m);
  bind_topology(m);
  bind_price(m);
  bind_select(m);
  bind_measure(m);
  bind_optim(m);
}
