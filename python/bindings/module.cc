// The module weft._core: one bind function a file, one file a public header.
#include "bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core. Use the package weft, which documents and checks.";
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
