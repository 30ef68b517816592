// A folder of made-up files that stands for / where /proc and /sys are read.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>

namespace weft {

// Made with the files given (path → content), gone with the object.
class MadeUpTree {
 public:
  using Files = std::map<std::string, std::string>;

  explicit MadeUpTree(const Files& files) {
    std::string name = (std::filesystem::temp_directory_path() / "weft-tree-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("cannot make " + name);
    root_ = name;
    for (const auto& [path, content] : files) {
      const std::filesystem::path place = root_.string() + path;
      std::filesystem::create_directories(place.parent_path());
      std::ofstream(place) << content;
    }
  }
  ~MadeUpTree() { std::filesystem::remove_all(root_); }
  MadeUpTree(const MadeUpTree&) = delete;
  MadeUpTree& operator=(const MadeUpTree&) = delete;

  std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace weft
