#include "base/hwloc.h"

#include <dlfcn.h>
#include <hwloc.h>

#include "base/errno_text.h"

namespace weft {
namespace {

constexpr const char* kFile = "libhwloc.so.15";  // all of hwloc 2

// Its functions by name; `error` says which is missing.
struct Library {
  decltype(&::hwloc_topology_init) init = nullptr;
  decltype(&::hwloc_topology_set_flags) set_flags = nullptr;
  decltype(&::hwloc_topology_load) load = nullptr;
  decltype(&::hwloc_topology_destroy) destroy = nullptr;
  decltype(&::hwloc_get_type_depth) depth = nullptr;
  decltype(&::hwloc_get_nbobjs_by_depth) count = nullptr;
  decltype(&::hwloc_get_obj_by_depth) object = nullptr;
  decltype(&::hwloc_bitmap_next) next = nullptr;
  decltype(&::hwloc_bitmap_isincluded) included = nullptr;
  std::string error;

  template <typename Function>
  void find(void* file, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(file, name));
    if (!function && error.empty()) error = std::string(kFile) + " has no " + name;
  }

  Library() {
    // Never closed: it may have brought along what others use by then.
    void* const file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
      error = std::string("hwloc cannot be loaded (") + ::dlerror() +
              "); install it (Debian, Ubuntu: libhwloc15; Fedora: hwloc-libs)";
      return;
    }
    find(file, "hwloc_topology_init", init);
    find(file, "hwloc_topology_set_flags", set_flags);
    find(file, "hwloc_topology_load", load);
    find(file, "hwloc_topology_destroy", destroy);
    find(file, "hwloc_get_type_depth", depth);
    find(file, "hwloc_get_nbobjs_by_depth", count);
    find(file, "hwloc_get_obj_by_depth", object);
    find(file, "hwloc_bitmap_next", next);
    find(file, "hwloc_bitmap_isincluded", included);
  }
};

const Library& library() {
  static const Library loaded;
  return loaded;
}

// One look at the machine.
class Look {
 public:
  Look() {
    if (library().init(&topology_) != 0) return;
    // It would go round all processors otherwise. A hwloc that does not know this goes.
    library().set_flags(topology_, HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING);
    loaded_ = library().load(topology_) == 0;
  }
  ~Look() {
    if (topology_) library().destroy(topology_);
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  bool loaded() const { return loaded_; }

  // In the order of their places; none where the machine has no such level.
  std::vector<hwloc_obj_t> all(hwloc_obj_type_t type) const {
    std::vector<hwloc_obj_t> objects;
    const int depth = library().depth(topology_, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN) return objects;
    for (unsigned i = 0; i < library().count(topology_, depth); ++i)
      objects.push_back(library().object(topology_, depth, i));
    return objects;
  }

  std::vector<Domain> domains(hwloc_obj_type_t type) const {
    std::vector<Domain> domains;
    for (hwloc_obj_t object : all(type)) {
      const unsigned number =
          object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index : object->os_index;
      Domain domain{static_cast<int>(number), 0, processors(object), memory(object->cpuset)};
      for (hwloc_obj_t core : all(HWLOC_OBJ_CORE))
        domain.cores += library().included(core->cpuset, object->cpuset);
      domains.push_back(std::move(domain));
    }
    return domains;
  }

  std::vector<Cache> caches() const {
    std::vector<Cache> caches;
    for (hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                  HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE})
      for (hwloc_obj_t object : all(type)) {
        const auto& cache = object->attr->cache;
        caches.push_back({static_cast<int>(cache.depth),
                          cache.type == HWLOC_OBJ_CACHE_DATA ? "Data" : "Unified", cache.size,
                          processors(object)});
      }
    return caches;
  }

 private:
  static std::vector<int> processors(hwloc_obj_t object) {
    std::vector<int> numbers;
    for (int i = library().next(object->cpuset, -1); i >= 0; i = library().next(object->cpuset, i))
      numbers.push_back(i);
    return numbers;
  }
  // Bytes of the memory nodes whose processors are all among these.
  std::size_t memory(hwloc_const_cpuset_t cpus) const {
    std::size_t bytes = 0;
    for (hwloc_obj_t node : all(HWLOC_OBJ_NUMANODE))
      if (library().included(node->cpuset, cpus)) bytes += node->attr->numanode.local_memory;
    return bytes;
  }

  hwloc_topology_t topology_ = nullptr;
  bool loaded_ = false;
};

}  // namespace

Layout read_hwloc() {
  Layout layout;
  layout.missing = library().error;
  if (!layout.missing.empty()) return layout;
  const Look look;
  if (!look.loaded()) {
    layout.missing = errno_text("hwloc cannot read this machine");
    return layout;
  }
  layout.sockets = look.domains(HWLOC_OBJ_PACKAGE);
  layout.numa_nodes = look.domains(HWLOC_OBJ_NUMANODE);
  layout.caches = look.caches();
  return layout;
}

}  // namespace weft
