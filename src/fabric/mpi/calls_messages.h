// Calls: messages and their requests.
#pragma once

#include <array>
#include <cstring>

#include "fabric/mpi/calls.h"

namespace weft::mpi {

// Room for a status of any library.
struct alignas(8) RawStatus {
  std::array<std::byte, 32> bytes{};
};

template <typename H>
Request Calls<H>::isend(const void* data, std::size_t bytes, int to, int tag, Comm comm) const {
  return begin(f_.isend, data, to_int(bytes), native(abi_.byte), to, tag, native(comm));
}

template <typename H>
Request Calls<H>::irecv(void* data, std::size_t bytes, int from, int tag, Comm comm) const {
  return begin(f_.irecv, data, to_int(bytes), native(abi_.byte), from, tag, native(comm));
}

template <typename H>
Status Calls<H>::status_of(const void* raw) const {
  const auto number = [&](std::size_t at) {
    int value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(raw) + at, sizeof value);
    return value;
  };
  int bytes = 0, cancelled = 0;
  f_.get_count(raw, native(abi_.byte), &bytes);
  f_.test_cancelled(raw, &cancelled);
  Status status;
  status.source = number(abi_.source_at);
  status.tag = number(abi_.tag_at);
  status.bytes = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  status.cancelled = cancelled != 0;
  return status;
}

template <typename H>
bool Calls<H>::iprobe(int from, int tag, Comm comm, Status& status) const {
  int found = 0;
  RawStatus raw;
  f_.iprobe(from, tag, native(comm), &found, &raw);
  if (found) status = status_of(&raw);
  return found != 0;
}

template <typename H>
bool Calls<H>::test(Request& request, Status* status) const {
  if (!request) return true;
  int ended = 0;
  RawStatus raw;
  H handle = native(request);
  const int code = f_.test.code(&handle, &ended, status ? &raw : abi_.ignore);
  request = request_of(handle);
  if (code != 0) fail(file_, "MPI_Test", code);
  if (ended && status) *status = status_of(&raw);
  return ended != 0;
}

template <typename H>
void Calls<H>::wait(Request& request, Status* status) const {
  if (!request) return;
  RawStatus raw;
  H handle = native(request);
  const int code = f_.wait.code(&handle, status ? &raw : abi_.ignore);
  request = request_of(handle);
  if (code != 0) fail(file_, "MPI_Wait", code);
  if (status) *status = status_of(&raw);
}

template <typename H>
void Calls<H>::cancel(Request& request) const {
  if (!request) return;
  H handle = native(request);
  f_.cancel(&handle);
}

template <typename H>
void Calls<H>::free(Request& request) const {
  if (!request) return;
  H handle = native(request);
  f_.request_free(&handle);
  request = {};
}

}  // namespace weft::mpi
