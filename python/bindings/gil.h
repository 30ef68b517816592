// Objects that hold Python references but may be dropped by any thread, without the GIL.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

// Owners may go away on the engine's progress thread, which never takes the GIL. Their objects are
// kept here until a thread with the GIL releases them.
template <typename T>
class Graveyard {
 public:
  // A shared object whose end is a burial. Thread safe.
  static std::shared_ptr<T> share(T object) {
    return std::shared_ptr<T>(new T(std::move(object)), [](T* dead) {
      std::lock_guard lock(instance().mutex_);
      instance().dead_.push_back(std::unique_ptr<T>(dead));
    });
  }

  // Destroys what was buried. The GIL is held.
  static void clear() {
    std::vector<std::unique_ptr<T>> dead;
    {
      std::lock_guard lock(instance().mutex_);
      dead.swap(instance().dead_);
    }
  }

 private:
  // Never destroyed: threads may outlive the interpreter.
  static Graveyard& instance() {
    static Graveyard* const only = new Graveyard;
    return *only;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> dead_;
};
