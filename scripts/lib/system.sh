# What must be there before .venv: a C++20 compiler and a Python with its C headers.
# Sourced after say.sh.

has_compiler() {
  local cxx=${CXX:-c++}
  command -v "$cxx" >/dev/null 2>&1 || return 1
  echo '#include <span>
        #include <atomic>
        int main() { std::atomic<int> a{0}; a.notify_one(); return std::span<int>().size(); }' \
    | "$cxx" -std=c++20 -x c++ -o /dev/null - 2>/dev/null
}

has_gtest() {
  echo '#include <gtest/gtest.h>' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}

# What `weft simulate` is built with. Optional: nothing else needs it.
has_simgrid() {
  echo '#include <simgrid/s4u.hpp>' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}

# What the fabric between hosts is built with. Optional: on one host nothing needs it. Debian's
# package brings the library as well.
has_libfabric() {
  echo '#include <rdma/fi_endpoint.h>' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}

# What sockets and caches are known by. Optional: nothing else needs it. Debian's package brings
# the library as well.
has_hwloc() {
  echo '#include <hwloc.h>' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}

# What tests/mpi starts: Open MPI with mpirun and oshrun, and its libraries. Optional: Weft itself
# needs no MPI to be built. MPICH comes with the newer libfabric (scripts/setup).
has_openmpi() {
  command -v mpirun.openmpi >/dev/null 2>&1 && command -v oshrun >/dev/null 2>&1
}

readonly arm_packages=(g++-aarch64-linux-gnu qemu-user-static googletest)

# What scripts/test-arm needs: Debian's cross compiler, an emulator, GoogleTest as sources.
has_arm() {
  command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 && [[ -f /usr/src/googletest/CMakeLists.txt ]] \
    && { command -v qemu-aarch64-static || command -v qemu-aarch64; } >/dev/null 2>&1
}

# A Python >= 3.10 that can make virtual environments and compile extensions.
usable_python() {
  "$1" - >/dev/null 2>&1 <<'CHECK'
import ensurepip, os, sys, sysconfig, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info < (3, 10) or not os.path.exists(header))
CHECK
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10}; do
    if command -v "$candidate" >/dev/null 2>&1 && usable_python "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

python_remedy() {
  echo "no Python >= 3.10 with the venv module and C headers was found${PYTHON:+ at PYTHON=$PYTHON}." \
    "Install one (Debian, Ubuntu: python3 python3-venv python3-dev; Fedora: python3-devel)" \
    "or set PYTHON to one"
}

compiler_remedy() {
  echo "no C++20 compiler was found${CXX:+ at CXX=$CXX}." \
    "Install GCC >= 11 or Clang >= 14 (Debian, Ubuntu: g++; Fedora: gcc-c++) or set CXX to one"
}

# system_packages GROUP: installs with apt-get what is missing, where that is possible and
# not refused. What is missing afterwards is an error if required, a note if optional.
system_packages() {
  local wanted=()
  find_python >/dev/null || wanted+=(python3 python3-venv python3-dev)
  if [[ $1 == arm ]]; then
    has_arm || wanted+=("${arm_packages[@]}")
  elif [[ $1 != lint ]]; then
    has_compiler || wanted+=(g++)
  fi
  if [[ $1 == test ]]; then
    has_gtest || wanted+=(libgtest-dev)
  fi
  if ((${#wanted[@]})); then
    apt_install "${wanted[@]}"
  fi
  if [[ $1 == test ]] && ! has_libfabric; then
    apt_install libfabric-dev
  fi
  if [[ $1 == test ]] && ! has_hwloc; then
    apt_install libhwloc-dev
  fi
  if [[ $1 == test ]] && ! command -v ip >/dev/null; then
    apt_install iproute2  # tests/hosts
  fi
  if [[ $1 == test ]] && ! has_openmpi; then
    apt_install openmpi-bin
  fi
  if [[ $1 == test ]] && ! has_simgrid; then
    apt_install libsimgrid-dev  # by itself: not every distribution has it
  fi

  find_python >/dev/null || die "$(python_remedy)"
  if [[ $1 == arm ]]; then
    has_arm || die "Arm programs cannot be made and run here: install ${arm_packages[*]} (Debian, Ubuntu)"
  elif [[ $1 != lint ]] && ! has_compiler; then
    die "$(compiler_remedy)"
  fi
  if [[ $1 == test ]] && ! has_gtest; then
    note "GoogleTest is missing (Debian, Ubuntu: libgtest-dev; Fedora: gtest-devel): C++ tests will be skipped"
  fi
  if [[ $1 == test ]] && ! has_libfabric; then
    note "libfabric is missing (Debian, Ubuntu: libfabric-dev): ranks will reach each other on one host only"
  fi
  if [[ $1 == test ]] && ! has_hwloc; then
    note "hwloc is missing (Debian, Ubuntu: libhwloc-dev): sockets and caches will not be known"
  fi
  if [[ $1 == test ]] && ! has_openmpi; then
    note "Open MPI is missing (Debian, Ubuntu: openmpi-bin): tests over it and OpenSHMEM will be skipped"
  fi
  if [[ $1 == test ]] && ! has_simgrid; then
    note "SimGrid is missing (Debian, Ubuntu: libsimgrid-dev): \`weft simulate\` will not be built, nor tested"
  fi
}

apt_install() {
  local root=()
  if [[ ${WEFT_NO_SYSTEM_PACKAGES:-0} == 1 ]]; then
    note "not installed, as WEFT_NO_SYSTEM_PACKAGES=1: $*"
    return
  elif ! command -v apt-get >/dev/null 2>&1; then
    note "this is not Debian or Ubuntu; its packages are called there: $*"
    return
  elif ((EUID != 0)); then
    if ! command -v sudo >/dev/null 2>&1 || ! { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
      note "neither root nor sudo, so not installed: $*"
      return
    fi
    root=(sudo)
  fi
  step "installing system packages: $* (WEFT_NO_SYSTEM_PACKAGES=1 refuses)"
  local install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y
    --no-install-recommends "$@")
  "${install[@]}" >build/log/apt.log 2>&1 && return
  "${root[@]}" apt-get update >>build/log/apt.log 2>&1 || true
  "${install[@]}" >>build/log/apt.log 2>&1 || note "apt-get failed: see build/log/apt.log"
}
