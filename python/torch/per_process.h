// What a process has one of.
#pragma once

#include <pthread.h>

namespace weft::torch_adapter {

// Never destroyed: threads and tensors may outlive static objects. A forked child gets a new one:
// it has none of its parent's threads and memory, and maybe a mutex that one of them has locked.
template <typename T>
class PerProcess {
 public:
  static T& get() { return *place(); }

 private:
  static T*& place() {
    static T* one = [] {
      pthread_atfork(nullptr, nullptr, [] { place() = new T; });
      return new T;
    }();
    return one;
  }
};

}  // namespace weft::torch_adapter
