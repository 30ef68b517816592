// One file a key. A value is written under a temporary name and then linked to its own:
// a reader finds it whole or not at all, also over NFS, and a second writer is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string_view>
#include <thread>

#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "weft/error.h"
#include "weft/store.h"

namespace weft {
namespace {

constexpr std::chrono::milliseconds kFirstPause(1);
constexpr std::chrono::milliseconds kLongestPause(50);
constexpr std::size_t kLongestName = 255;

// Makes the directory and what is missing above it, for this user only.
void make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      throw InvalidArgument("directory: cannot make " + errno_text(part));
    }
    if (end == std::string::npos) return;
  }
}

UniqueFd open_directory(const std::string& path) {
  if (path.empty()) throw InvalidArgument("directory: the store needs a name");
  make_directories(path);
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!directory || ::fstat(directory.get(), &status) != 0) {
    throw InvalidArgument("directory: cannot open " + errno_text(path));
  }
  if (status.st_uid != ::geteuid()) {
    throw InvalidArgument("directory: " + path + " belongs to user " +
                          std::to_string(status.st_uid) +
                          ", who could mislead the ranks; name one of your own");
  }
  if (status.st_mode & S_IWOTH) {
    throw InvalidArgument("directory: everybody may write to " + path +
                          " and mislead the ranks; chmod 700 it, or name another");
  }
  return directory;
}

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Letters, digits, '-' and '_' stand for themselves, every other byte is %XX: no key
// can leave the directory, or meet a temporary name, which starts with a dot.
std::string file_name(const std::string& key) {
  std::string name;
  for (unsigned char c : key) {
    if (kPlain.find(static_cast<char>(c)) != std::string_view::npos) {
      name += static_cast<char>(c);
    } else {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02X", c);
      name += escaped;
    }
  }
  if (name.empty() || name.size() > kLongestName) {
    throw InvalidArgument("key: \"" + key + "\" is empty or too long for a file name");
  }
  return name;
}

class FileStore final : public Store {
 public:
  explicit FileStore(const std::string& path) : path_(path), directory_(open_directory(path)) {}

  void set(const std::string& key, const std::string& value) override {
    const std::string name = file_name(key);
    const Temporary temporary(*this);
    temporary.write(value);
    if (::linkat(directory_.get(), temporary.name().c_str(), directory_.get(), name.c_str(), 0) ==
        0) {
      return;
    }
    if (errno != EEXIST) fail(name);
    throw InvalidArgument("store: key \"" + key + "\" was set before in " + path_ +
                          "; every job needs a directory of its own, and every rank its number");
  }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    const std::string name = file_name(key);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    // Polled: a directory may lie on a file system that reports no changes of other hosts.
    for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      UniqueFd file(::openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
      if (file) return read(file.get());
      if (errno != ENOENT) fail(name);
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        throw Timeout("store: key \"" + key + "\" was not set in " + path_ + " within " +
                      std::to_string(timeout.count()) +
                      " ms; has every rank been started, with the same directory?");
      }
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, left));
    }
  }

 private:
  // A file with a name that nobody waits for. Removed when done with.
  class Temporary {
   public:
    explicit Temporary(const FileStore& store) : store_(store) {
      std::random_device random;
      name_ = ".tmp-" + std::to_string(random()) + "-" + std::to_string(random());
      file_ = UniqueFd(::openat(store.directory_.get(), name_.c_str(),
                                O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
      if (!file_) store.fail(name_);
    }
    ~Temporary() { ::unlinkat(store_.directory_.get(), name_.c_str(), 0); }
    Temporary(const Temporary&) = delete;

    const std::string& name() const { return name_; }

    void write(const std::string& value) const {
      for (std::size_t done = 0; done < value.size();) {
        const ssize_t wrote = ::write(file_.get(), value.data() + done, value.size() - done);
        if (wrote < 0 && errno != EINTR) store_.fail(name_);
        if (wrote > 0) done += static_cast<std::size_t>(wrote);
      }
    }

   private:
    const FileStore& store_;
    std::string name_;
    UniqueFd file_;
  };

  std::string read(int file) const {
    std::string value;
    char piece[4096];
    for (;;) {
      const ssize_t got = ::read(file, piece, sizeof piece);
      if (got < 0 && errno != EINTR) fail("read");
      if (got == 0) return value;
      if (got > 0) value.append(piece, static_cast<std::size_t>(got));
    }
  }

  [[noreturn]] void fail(const std::string& name) const {
    throw Error("store: " + errno_text(path_ + "/" + name));
  }

  const std::string path_;
  const UniqueFd directory_;
};

}  // namespace

std::shared_ptr<Store> file_store(const std::string& directory) {
  return std::make_shared<FileStore>(directory);
}

}  // namespace weft
