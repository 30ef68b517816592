// weft/builder.h: algorithms, built in and written in Python.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "gil.h"
#include "plan.h"
#include "weft/registry.h"

namespace {

using weft::Params;

// A Python function that any thread may call, and drop. The registry of algorithms outlives
// the interpreter, so at its exit all functions are let go.
class Callable {
 public:
  explicit Callable(nb::callable function)
      : function_(Graveyard<nb::object>::share(std::move(function))) {
    std::erase_if(living(), [](const auto& one) { return one.expired(); });
    living().push_back(function_);
  }

  void write(weft::Builder& builder) const {
    nb::gil_scoped_acquire gil;
    nb::object lent = nb::cast(PyBuilder(builder));
    // However the call ends, what Python still has of the builder must not be used.
    struct Revoke {
      nb::object& lent;
      ~Revoke() { nb::cast<PyBuilder&>(lent).revoke(); }
    } revoke{lent};
    function()(lent);
  }

  std::string refuses(int ranks, const Params& params) const {
    nb::gil_scoped_acquire gil;
    nb::object reason = function()(ranks, params);
    return reason.is_none() ? std::string() : nb::cast<std::string>(reason);
  }

  static void forget_all() {
    for (const auto& one : living())
      if (auto function = one.lock()) function->reset();
    Graveyard<nb::object>::clear();
  }

 private:
  const nb::object& function() const {
    if (!function_->is_valid())
      throw weft::InvalidPlan("an algorithm written in Python is called while Python exits");
    return *function_;
  }

  // Guarded by the GIL. Never destroyed, as the registry.
  static std::vector<std::weak_ptr<nb::object>>& living() {
    static auto* const all = new std::vector<std::weak_ptr<nb::object>>;
    return *all;
  }

  std::shared_ptr<nb::object> function_;
};

void add(std::string name, const std::string& collective, std::string summary, nb::callable write,
         std::optional<nb::callable> refuses, bool consistent, bool reproducible) {
  weft::Algorithm algorithm;
  algorithm.name = std::move(name);
  algorithm.collective = weft::parse_collective(collective);
  algorithm.summary = std::move(summary);
  algorithm.write = [f = Callable(std::move(write))](weft::Builder& b) { f.write(b); };
  algorithm.claims = {consistent, reproducible};
  if (refuses)
    algorithm.refuses = [f = Callable(std::move(*refuses))](int ranks, const Params& params) {
      return f.refuses(ranks, params);
    };
  Graveyard<nb::object>::clear();
  nb::gil_scoped_release release;
  weft::register_algorithm(std::move(algorithm));
}

}  // namespace

void bind_algorithms(nb::module_& m) {
  using weft::Algorithm;
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&Callable::forget_all));
  nb::class_<Algorithm>(m, "Algorithm")
      .def_ro("name", &Algorithm::name)
      .def_prop_ro(
          "collective",
          [](const Algorithm& self) { return std::string(weft::name_of(self.collective)); })
      .def_ro("summary", &Algorithm::summary)
      .def_prop_ro("aliases",
                   [](const Algorithm& self) {
                     std::vector<std::string> names;
                     for (const weft::Alias& alias : self.aliases) names.push_back(alias.name);
                     return names;
                   })
      .def_ro("preset", &Algorithm::preset)
      .def_ro("chunk", &Algorithm::chunk)
      .def_prop_ro("consistent", [](const Algorithm& self) { return self.claims.consistent; })
      .def_prop_ro("reproducible", [](const Algorithm& self) { return self.claims.reproducible; })
      .def(
          "refuses",
          [](const Algorithm& self, int ranks, const Params& params) {
            return self.refuses ? self.refuses(ranks, params) : std::string();
          },
          nb::arg("ranks"), nb::arg("params") = Params(),
          "Why it cannot serve so many ranks with these parameters; empty: it can.")
      .def("__repr__", [](const Algorithm& self) { return "<Algorithm " + self.name + ">"; });
  // The registry's lock is taken by threads that then need the GIL: never the other way round.
  m.def("algorithm_names", &weft::algorithm_names, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "find_algorithm", [](const std::string& name) { return weft::find_algorithm(name); },
      nb::arg("name"), nb::call_guard<nb::gil_scoped_release>());
  m.def("register_algorithm", &add, nb::arg("name"), nb::arg("collective"), nb::arg("summary"),
        nb::arg("write"), nb::arg("refuses").none() = nb::none(), nb::arg("consistent") = false,
        nb::arg("reproducible") = false);
  m.def(
      "make_plan",
      [](const std::string& algorithm, int ranks, Params params) {
        return weft::make_plan(algorithm, ranks, std::move(params));
      },
      nb::arg("algorithm"), nb::arg("ranks"), nb::arg("params") = Params(),
      nb::call_guard<nb::gil_scoped_release>());
}
