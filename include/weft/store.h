// The rendezvous: a small key-value store that the launcher provides. Weft uses it
// only while a communicator is made.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace weft {

// Thread safe.
class Store {
 public:
  virtual ~Store() = default;
  // Sets `key`, once.
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until `key` is set. Throws Timeout naming the key.
  virtual std::string get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

// A store in a directory that all ranks see: one file a key. The directory is made
// with mode 0700 if it is missing. Ranks of one job need a directory of their own.
// `part`: the store lies in this directory inside `directory`, which may hold several.
// Throws InvalidArgument if others could change what ranks read: the directory belongs to another
// user, or its group or everybody may write to it. A directory that only contains the store's may
// be root's. Others may write to it if it is sticky, as /tmp is.
std::shared_ptr<Store> file_store(const std::string& directory, const std::string& part = {});

// A store among the threads of one process.
std::shared_ptr<Store> memory_store();

}  // namespace weft
