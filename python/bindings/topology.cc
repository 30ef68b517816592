// weft/topology.h. Unlike plans these values can be assigned to, but what `vertices`, `links` and
// `ranks` return are copies: assign whole lists.
#include "weft/topology.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"

namespace {

using weft::Routes;
using weft::Topology;
using Pair = std::pair<int, int>;
using Route = std::vector<std::pair<int, bool>>;

std::vector<Route> paths(const Topology& topology, const std::vector<Pair>& pairs) {
  Routes routes(topology);
  std::vector<Route> found;
  for (const auto& [from, to] : pairs) {
    Route& route = found.emplace_back();
    for (const Routes::Hop& hop : routes.path(from, to)) route.emplace_back(hop.link, hop.forward);
  }
  return found;
}

void bind_parts(nb::module_& m) {
  using Vertex = Topology::Vertex;
  nb::class_<Vertex>(m, "Vertex", "A rank's processor, or a switch.")
      .def(nb::init<std::string, int, int, double, double>(), nb::arg("name"), nb::arg("node") = -1,
           nb::arg("socket") = -1, nb::arg("latency") = 0.0, nb::arg("bandwidth") = 0.0)
      .def_rw("name", &Vertex::name)
      .def_rw("node", &Vertex::node)
      .def_rw("socket", &Vertex::socket)
      .def_rw("latency", &Vertex::latency)
      .def_rw("bandwidth", &Vertex::bandwidth);
  using Link = Topology::Link;
  nb::class_<Link>(m, "Link", "What joins two vertices.")
      .def(nb::init<int, int, double, double, double, bool, bool, bool, double, double>(),
           nb::arg("a"), nb::arg("b"), nb::arg("latency"), nb::arg("bandwidth"),
           nb::arg("overhead") = 0.0, nb::arg("full_duplex") = true, nb::arg("shared") = true,
           nb::arg("memory") = false, nb::arg("idle_watts") = 0.0, nb::arg("busy_watts") = 0.0)
      .def_rw("a", &Link::a)
      .def_rw("b", &Link::b)
      .def_rw("latency", &Link::latency)
      .def_rw("bandwidth", &Link::bandwidth)
      .def_rw("overhead", &Link::overhead)
      .def_rw("full_duplex", &Link::full_duplex)
      .def_rw("shared", &Link::shared)
      .def_rw("memory", &Link::memory)
      .def_rw("idle_watts", &Link::idle_watts)
      .def_rw("busy_watts", &Link::busy_watts);
  using Rates = Topology::Rates;
  nb::class_<Rates>(m, "SizedRates", "The rates of a rank with so many bytes of buffers.")
      .def(nb::init<double, double, double, double, double>(), nb::arg("bytes"), nb::arg("copy"),
           nb::arg("reduce"), nb::arg("fetch") = 0.0, nb::arg("store") = 0.0)
      .def_rw("bytes", &Rates::bytes)
      .def_rw("copy", &Rates::copy)
      .def_rw("reduce", &Rates::reduce)
      .def_rw("fetch", &Rates::fetch)
      .def_rw("store", &Rates::store);
}

}  // namespace

void bind_topology(nb::module_& m) {
  bind_parts(m);
  nb::class_<Topology>(m, "Topology", "Ranks and switches, and the links between them.")
      .def(
          "__init__",
          [](Topology* self, std::string name, std::vector<Topology::Vertex> vertices,
             std::vector<Topology::Link> links, std::vector<int> ranks, bool one_port, double copy,
             double reduce, double step, double call, std::vector<Topology::Rates> by_size) {
            Topology made{std::move(name),
                          std::move(vertices),
                          std::move(links),
                          std::move(ranks),
                          one_port,
                          copy,
                          reduce,
                          step,
                          call,
                          std::move(by_size)};
            check(made);
            new (self) Topology(std::move(made));
          },
          nb::arg("name"), nb::arg("vertices"), nb::arg("links"), nb::arg("ranks"),
          nb::arg("one_port") = false, nb::arg("copy") = 0.0, nb::arg("reduce") = 0.0,
          nb::arg("step") = 0.0, nb::arg("call") = 0.0,
          nb::arg("by_size") = std::vector<Topology::Rates>{})
      .def_rw("name", &Topology::name)
      .def_rw("vertices", &Topology::vertices)
      .def_rw("links", &Topology::links)
      .def_rw("ranks", &Topology::ranks)
      .def_rw("one_port", &Topology::one_port)
      .def_rw("copy", &Topology::copy)
      .def_rw("reduce", &Topology::reduce)
      .def_rw("step", &Topology::step)
      .def_rw("call", &Topology::call)
      .def_rw("by_size", &Topology::by_size)
      .def("paths", &paths, nb::arg("pairs"),
           "For each (source, destination) the route between the ranks: (link, from its a to its "
           "b).")
      .def(
          "latencies",
          [](const Topology& self, int source) {
            Routes routes(self);
            std::vector<double> seconds;
            for (int to = 0; to < static_cast<int>(self.ranks.size()); ++to)
              seconds.push_back(routes.latency(source, to));
            return seconds;
          },
          nb::arg("source"), "Seconds from a rank to each rank.")
      .def("__repr__", [](const Topology& self) {
        return "<Topology " + self.name + ": " + std::to_string(self.ranks.size()) + " ranks, " +
               std::to_string(self.links.size()) + " links>";
      });
}
