#include "base/machine_model.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/environment.h"
#include "base/model_file.h"
#include "weft/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShipped = "shipped";

// Slots never have more places than this rank's share of the third cache holds, where that is
// known.
MachineModel within_share(MachineModel model, const Processor& processor) {
  if (processor.l3 == 0 || processor.l3_sharers == 0) return model;
  model.reuse.most = processor.l3 / static_cast<std::size_t>(processor.l3_sharers);
  model.reuse.span = std::min(model.reuse.span, model.reuse.most);
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
    return within_share(read_model(asked, processor), processor);
  }
  const fs::path own = user_file("model.json");
  std::error_code unreadable;
  OwnModel measured;
  if (asked.empty() && !own.empty() && fs::exists(own, unreadable))
    measured = read_own_model(own, processor);
  MachineModel model = measured.model ? *measured.model : shipped_model(processor);
  model.left_out = measured.left_out;
  return within_share(std::move(model), processor);
}

}  // namespace

const MachineModel& machine_model() {
  static const MachineModel model = choose_model();
  return model;
}

}  // namespace weft
