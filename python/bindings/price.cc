// weft/price.h and weft/fit.h.
#include "weft/price.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "param.h"
#include "weft/fit.h"

namespace {

using namespace weft;

PriceOptions options_of(std::size_t chunk, const std::string& dtype, bool symmetric, bool in_place,
                        std::size_t slot_bytes) {
  return {chunk, parse_dtype(dtype), symmetric, in_place, slot_bytes};
}

void bind_timeline(nb::module_& m) {
  nb::class_<Timeline::Step>(m, "TimelineStep", "One step of a rank, in time.")
      .def_ro("rank", &Timeline::Step::rank)
      .def_ro("section", &Timeline::Step::section)
      .def_ro("step", &Timeline::Step::step)
      .def_ro("round", &Timeline::Step::round)
      .def_ro("chunk", &Timeline::Step::chunk)
      .def_ro("chunks", &Timeline::Step::chunks)
      .def_ro("sent", &Timeline::Step::sent)
      .def_ro("read", &Timeline::Step::read)
      .def_ro("start", &Timeline::Step::start)
      .def_ro("began", &Timeline::Step::began)
      .def_ro("end", &Timeline::Step::end);
  nb::class_<Timeline::Message>(m, "TimelineMessage", "One message, to one destination, in time.")
      .def_ro("source", &Timeline::Message::from)
      .def_ro("destination", &Timeline::Message::to)
      .def_ro("channel", &Timeline::Message::channel)
      .def_ro("bytes", &Timeline::Message::bytes)
      .def_ro("sent", &Timeline::Message::sent)
      .def_ro("arrived", &Timeline::Message::arrived)
      .def_ro("received", &Timeline::Message::received)
      .def_ro("credited", &Timeline::Message::credited);
  nb::class_<Timeline>(m, "Timeline", "When everything of a priced call happens.")
      .def_ro("price", &Timeline::price)
      .def_ro("steps", &Timeline::steps)
      .def_ro("messages", &Timeline::messages);
}

}  // namespace

void bind_price(nb::module_& m) {
  nb::class_<Price>(m, "Price", "What a plan costs on a topology.")
      .def_ro("seconds", &Price::seconds)
      .def_ro("chunk", &Price::chunk)
      .def_ro("messages", &Price::messages)
      .def_ro("bytes", &Price::bytes)
      .def_ro("depth", &Price::depth)
      .def_ro("busiest", &Price::busiest)
      .def_ro("busy", &Price::busy)
      .def_ro("fitted", &Price::fitted)
      .def("__repr__", [](const Price& self) {
        return "<Price " + std::to_string(self.seconds * 1e6) + " us, " +
               std::to_string(self.messages) + " messages>";
      });
  bind_timeline(m);
  m.attr("SLOT_BYTES") = kSlotBytes;
  m.def("fit", &fit, nb::arg("algorithm"), nb::arg("ranks"), nb::arg("params"), nb::arg("topology"),
        nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "price_algorithm",
      [](const std::string& algorithm, const Topology& topology, int ranks, std::size_t nbytes,
         const Params& params, std::size_t chunk, const std::string& dtype, bool symmetric,
         bool in_place, std::size_t slot_bytes) {
        return price(algorithm, ranks, nbytes, topology, params,
                     options_of(chunk, dtype, symmetric, in_place, slot_bytes));
      },
      nb::arg("algorithm"), nb::arg("topology"), nb::arg("ranks"), nb::arg("nbytes"),
      nb::arg("params"), nb::arg("chunk"), nb::arg("dtype"), nb::arg("symmetric"),
      nb::arg("in_place"), nb::arg("slot_bytes"), nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "price_plan",
      [](const Plan& plan, const Topology& topology, std::size_t nbytes, std::size_t chunk,
         const std::string& dtype, bool symmetric, bool in_place, std::size_t slot_bytes) {
        return price(plan, nbytes, topology,
                     options_of(chunk, dtype, symmetric, in_place, slot_bytes));
      },
      nb::arg("plan"), nb::arg("topology"), nb::arg("nbytes"), nb::arg("chunk"), nb::arg("dtype"),
      nb::arg("symmetric"), nb::arg("in_place"), nb::arg("slot_bytes"),
      nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "timeline",
      [](const Plan& plan, const Topology& topology, std::size_t nbytes, std::size_t chunk,
         const std::string& dtype, bool symmetric, bool in_place) {
        return timeline(plan, nbytes, topology, options_of(chunk, dtype, symmetric, in_place, 0));
      },
      nb::arg("plan"), nb::arg("topology"), nb::arg("nbytes"), nb::arg("chunk"), nb::arg("dtype"),
      nb::arg("symmetric"), nb::arg("in_place"), nb::call_guard<nb::gil_scoped_release>());
}
