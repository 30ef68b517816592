#include "base/machine_model.h"

#include <algorithm>
#include <filesystem>

#include "base/environment.h"
#include "base/model_file.h"
#include "weft/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShipped = "shipped";

// A slot's places are never more than this rank's share of the third cache.
MachineModel within_share(MachineModel model, const Processor& processor) {
  if (processor.l3 && processor.l3_sharers)
    model.reuse.span =
        std::min(model.reuse.span, processor.l3 / static_cast<std::size_t>(processor.l3_sharers));
  return model;
}

MachineModel choose_model() {
  const Processor processor = this_processor();
  const std::string asked = Environment::read().model;
  if (!asked.empty() && asked != kShipped) {
    if (auto named = model_named(asked)) return within_share(*named, processor);
    if (asked.find('/') == std::string::npos && !fs::exists(asked))
      throw InvalidArgument("WEFT_MODEL is \"" + asked +
                            "\": give shipped, a file of `weft tune --quick`, or one of " +
                            model_names());
    return within_share(*read_model(asked, processor, true), processor);
  }
  const fs::path own = user_file("model.json");
  std::error_code unreadable;
  if (asked.empty() && !own.empty() && fs::exists(own, unreadable))
    if (auto measured = read_model(own, processor, false))
      return within_share(*measured, processor);
  return within_share(shipped_model(processor), processor);
}

}  // namespace

const MachineModel& machine_model() {
  static const MachineModel model = choose_model();
  return model;
}

}  // namespace weft
