#include "fabric/mpi/calls.h"

#include <array>
#include <climits>
#include <numeric>

#include "fabric/mpi/calls_collectives.h"
#include "fabric/mpi/calls_messages.h"

namespace weft::mpi {

const char* name_of(Level level) {
  constexpr std::array kNames = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                 "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
  return kNames[static_cast<std::size_t>(level)];
}

void fail(const File& file, const char* name, int code) {
  using Text = int (*)(int, char*, int*);
  const auto text_of = reinterpret_cast<Text>(::dlsym(file.handle, "MPI_Error_string"));
  std::array<char, 513> text{};  // the longest that any library has
  int length = 0;
  if (!text_of || text_of(code, text.data(), &length) != 0 || text[0] == 0) {
    throw Failure(std::string("mpi: ") + name + ": error " + std::to_string(code), code);
  }
  throw Failure(std::string("mpi: ") + name + ": " + text.data(), code);
}

int to_int(std::size_t count) {
  if (count > INT_MAX) {
    throw InvalidArgument("mpi: " + std::to_string(count) +
                          " elements or bytes in one call, but MPI takes 2147483647: send less");
  }
  return static_cast<int>(count);
}

template <typename H>
bool Calls<H>::initialized() const {
  int is = 0;
  f_.initialized(&is);
  return is != 0;
}

template <typename H>
bool Calls<H>::finalized() const {
  int is = 0;
  f_.finalized(&is);
  return is != 0;
}

template <typename H>
Level Calls<H>::level_of(int number) const {
  Level level = Level::kSingle;
  for (std::size_t i = 0; i < abi_.levels.size(); ++i) {
    if (abi_.levels[i] <= number) level = static_cast<Level>(i);
  }
  return level;
}

template <typename H>
Level Calls<H>::init_thread(Level wanted) const {
  int given = 0;
  f_.init_thread(nullptr, nullptr, abi_.levels[static_cast<std::size_t>(wanted)], &given);
  return level_of(given);
}

template <typename H>
Level Calls<H>::query_thread() const {
  int given = 0;
  f_.query_thread(&given);
  return level_of(given);
}

template <typename H>
Comm Calls<H>::comm_of(std::uintptr_t handle) const {
  // An int comes as a signed or as an unsigned one.
  const Comm comm{bits_of(native(reinterpret_cast<void*>(handle)))};
  if (comm.bits == abi_.no_comm)
    throw InvalidArgument(
        "mpi: the communicator is MPI_COMM_NULL: this rank is none of its members, or it was "
        "freed");
  return comm;
}

template <typename H>
bool Calls<H>::is_inter(Comm comm) const {
  int is = 0;
  f_.comm_test_inter(native(comm), &is);
  return is != 0;
}

template <typename H>
int Calls<H>::rank(Comm comm) const {
  int rank = 0;
  f_.comm_rank(native(comm), &rank);
  return rank;
}

template <typename H>
int Calls<H>::size(Comm comm) const {
  int size = 0;
  f_.comm_size(native(comm), &size);
  return size;
}

template <typename H>
void Calls<H>::return_errors(Comm comm) const {
  f_.comm_set_errhandler(native(comm), native(abi_.errors_return));
}

template <typename H>
Group Calls<H>::group(Comm comm) const {
  H group{};
  f_.comm_group(native(comm), &group);
  return {bits_of(group)};
}

template <typename H>
Group Calls<H>::include(Group group, std::span<const int> ranks) const {
  H chosen{};
  f_.group_incl(native(group), to_int(ranks.size()), ranks.data(), &chosen);
  return {bits_of(chosen)};
}

// Not MPI_Comm_dup, which also copies what the program has attached.
template <typename H>
Comm Calls<H>::copy(Comm comm) const {
  H made = native(abi_.no_comm);
  f_.comm_split(native(comm), 0, 0, &made);
  return {bits_of(made)};
}

template <typename H>
Comm Calls<H>::create_group(Comm comm, Group group, int tag) const {
  H made = native(abi_.no_comm);
  f_.comm_create_group(native(comm), native(group), tag, &made);
  if (bits_of(made) == abi_.no_comm) return {};  // this rank is no member
  return {bits_of(made)};
}

template <typename H>
std::vector<int> Calls<H>::translate(Group group, Group among) const {
  int size = 0;
  f_.group_size(native(group), &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), found(ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  f_.group_translate_ranks(native(group), size, ranks.data(), native(among), found.data());
  return found;
}

template <typename H>
void Calls<H>::free(Comm& comm) const {
  H handle = native(comm);
  comm = {};
  f_.comm_free(&handle);
}

template <typename H>
void Calls<H>::free(Group& group) const {
  H handle = native(group);
  group = {};
  f_.group_free(&handle);
}

template class Calls<int>;
template class Calls<void*>;

std::unique_ptr<Mpi> make_mpi(const File& file) {
  const Abi abi = abi_of(file);
  if (abi.handles_are_ints) return std::make_unique<Calls<int>>(file, abi);
  return std::make_unique<Calls<void*>>(file, abi);
}

}  // namespace weft::mpi
