#include "base/model_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errno_text.h"
#include "base/json_text.h"
#include "base/unique_fd.h"
#include "weft/error.h"

namespace weft {
namespace {

using nlohmann::json;

constexpr int kModelVersion = 1;
constexpr const char* kVersionName = "weft_model";
constexpr const char* kProcessorName = "processor";
constexpr off_t kMostBytes = 16 << 10;
constexpr std::size_t kMostLength = std::size_t{1} << 40;

[[noreturn]] void wrong(const std::filesystem::path& file, const std::string& what) {
  throw InvalidArgument(file.string() + ": " + what);
}

// The text of a file that nobody but this user and root can have written.
std::string trusted_text(const std::filesystem::path& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about = {};
  if (!fd || fstat(fd.get(), &about) != 0) wrong(file, errno_text("it cannot be read"));
  if (!S_ISREG(about.st_mode)) wrong(file, "it is no regular file");
  if (about.st_uid != geteuid() && about.st_uid != 0)
    wrong(file, "another user owns it: make your own with `weft tune --quick`");
  if (about.st_mode & (S_IWGRP | S_IWOTH)) wrong(file, "others may write it: chmod go-w");
  if (about.st_size > kMostBytes)
    wrong(file, "it has " + std::to_string(about.st_size) + " bytes and may have " +
                    std::to_string(kMostBytes));
  std::string text(static_cast<std::size_t>(about.st_size), ' ');
  const ssize_t got = read(fd.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// False: there is no number of that name.
template <class Numbers>
bool read_number(const std::filesystem::path& file, const json& whole, const std::string& name,
                 std::span<const NumberField<Numbers>> fields, Numbers& numbers) {
  const auto field = std::ranges::find(fields, name, &NumberField<Numbers>::name);
  if (field == fields.end()) return false;
  const json& value = whole[name];
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMostLength)
    wrong(file, name + " is " + shown(value) + ": give bytes, at most 2^40");
  numbers.*field->value = value.get<std::size_t>();
  return true;
}

json parsed(const std::filesystem::path& file) {
  const std::string text = trusted_text(file);
  try {
    return parse_json(text);
  } catch (const InvalidArgument& error) {
    wrong(file, error.what());
  }
}

json version_of(const json& whole) {
  return whole.is_object() ? whole.value(kVersionName, json()) : json();
}

// Throws unless it is a model of this version, of some processor.
void check_kind(const std::filesystem::path& file, const json& whole) {
  if (version_of(whole) != kModelVersion)
    wrong(file, std::string("it has no \"") + kVersionName + "\": " +
                    std::to_string(kModelVersion) + ": make it anew with `weft tune --quick`");
  if (!whole.contains(kProcessorName) || !whole[kProcessorName].is_string())
    wrong(file, "it does not say of which processor it is");
}

// The numbers that the file has, in place of those that are shipped.
MachineModel with_numbers(const std::filesystem::path& file, const json& whole,
                          const Processor& processor) {
  MachineModel model = shipped_model(processor);
  model.name = file.string();
  for (const auto& [name, _] : whole.items()) {
    if (name == kVersionName || name == kProcessorName || name == "measured") continue;
    if (!read_number(file, whole, name, reuse_fields(), model.reuse) &&
        !read_number(file, whole, name, length_fields(), model.lengths))
      wrong(file, "there is no " + shown(name));
  }
  const Lengths& lengths = model.lengths;
  if (lengths.smallest_chunk == 0 || lengths.smallest_chunk > lengths.largest_chunk ||
      lengths.moved_chunk == 0)
    wrong(file, "chunks are from smallest_chunk, at least 1, to largest_chunk");
  return model;
}

}  // namespace

MachineModel read_model(const std::filesystem::path& file, const Processor& processor) {
  const json whole = parsed(file);
  check_kind(file, whole);
  return with_numbers(file, whole, processor);
}

OwnModel read_own_model(const std::filesystem::path& file, const Processor& processor) {
  const json whole = parsed(file);
  const json version = version_of(whole);
  // Another Weft's numbers stop no program.
  if (version.is_number_unsigned() && version != kModelVersion)
    return {std::nullopt, file.string() + " is of version " + shown(version) +
                              ", and this Weft reads version " + std::to_string(kModelVersion)};
  check_kind(file, whole);
  if (whole[kProcessorName] != processor.text())
    return {std::nullopt,
            file.string() + " was measured on another processor, " + shown(whole[kProcessorName])};
  return {with_numbers(file, whole, processor), ""};
}

}  // namespace weft
