// A file of a model: what is read, left out and refused.
#include "base/model_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "made_up_tree.h"
#include "weft/error.h"

namespace weft {
namespace {

class ModelFile : public testing::Test {
 protected:
  const Processor here_{"AuthenticAMD", 26, 0x02};
  // The model of a file with this text, on a processor that is known.
  MachineModel read(const std::string& text, mode_t mode = 0600) {
    const MadeUpTree tree({{"/model.json", text}});
    const std::string file = tree.root() + "/model.json";
    chmod(file.c_str(), mode);
    return read_model(file, here_);
  }
  OwnModel read_own(const std::string& version, const std::string& processor) {
    const MadeUpTree tree({{"/model.json", R"({"weft_model": )" + version + R"(, "processor": ")" +
                                               processor + R"(", "one_shot": 5})"}});
    return read_own_model(tree.root() + "/model.json", here_);
  }
  std::string refused(const std::string& text, mode_t mode = 0600) {
    try {
      read(text, mode);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(ModelFile, ChangesWhatItHasOfWhatIsShipped) {
  const MachineModel model =
      read(R"({"weft_model": 1, "processor": "x", "reuse": 4096, "reuse_to": 9, "lend_to": 7,
               "lent_span": 3, "one_shot": 5})");
  const MachineModel shipped = shipped_model(here_);
  EXPECT_EQ(model.reuse.span, 4096u);
  EXPECT_EQ(model.reuse.to, 9u);
  EXPECT_EQ(model.reuse.lend_to, 7u);
  EXPECT_EQ(model.reuse.lent_span, 3u);
  EXPECT_EQ(model.lengths.one_shot, 5u);
  EXPECT_EQ(model.lengths.smallest_chunk, shipped.lengths.smallest_chunk);
  EXPECT_EQ(model.copies.rules[1].string_from, shipped.copies.rules[1].string_from);
}

TEST_F(ModelFile, OfTheUsersOwnIsReadIfItIsOfThisProcessor) {
  const OwnModel own = read_own("1", here_.text());
  ASSERT_TRUE(own.model);
  EXPECT_EQ(own.model->lengths.one_shot, 5u);
  EXPECT_EQ(own.left_out, "");
}

// A newer Weft has other numbers. What an older one measured stops no program.
TEST_F(ModelFile, OfAnotherProcessorOrVersionIsLeftOutUnlessItIsPinned) {
  const OwnModel elsewhere = read_own("1", "x"), newer = read_own("2", here_.text());
  EXPECT_FALSE(elsewhere.model);
  EXPECT_FALSE(newer.model);
  for (const auto& [own, says] :
       {std::pair(elsewhere, R"(model.json was measured on another processor, "x")"),
        std::pair(newer, "model.json is of version 2, and this Weft reads version 1")})
    EXPECT_NE(own.left_out.find(says), std::string::npos) << own.left_out;
  EXPECT_EQ(read(R"({"weft_model": 1, "processor": "x", "one_shot": 5})").lengths.one_shot, 5u);
}

TEST_F(ModelFile, OfTheUsersOwnIsRefusedIfItSaysNoVersion) {
  EXPECT_THROW(read_own(R"("1")", here_.text()), InvalidArgument);
}

TEST_F(ModelFile, IsARegularOneOfThisUser) {
  const MadeUpTree::Files files{{"/model.json", R"({"weft_model": 1, "processor": "x"})"}};
  const MadeUpTree tree(files);
  const auto said = [](const std::string& file) -> std::string {
    try {
      read_model(file, {});
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  const std::string file = tree.root() + "/model.json";
  EXPECT_EQ(said(file), "");
  EXPECT_NE(said(tree.root()).find("no regular file"), std::string::npos) << said(tree.root());
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  EXPECT_NE(said(file).find("another user owns it"), std::string::npos) << said(file);
}

TEST_F(ModelFile, IsRefusedWithTheReason) {
  struct Row {
    std::string text;
    const char* says;
    mode_t mode = 0600;
  };
  for (const Row& row : std::vector<Row>{
           {"", "parse error"},
           {"[]", "has no \"weft_model\": 1"},
           {R"({"weft_model": 2, "processor": "x"})", "has no \"weft_model\": 1"},
           {R"({"weft_model": 1})", "of which processor"},
           {R"({"weft_model": 1, "processor": "x", "reuse": -1})", "reuse is -1"},
           {R"({"weft_model": 1, "processor": "x", "one_shot": 1.5})", "one_shot is 1.5"},
           {R"({"weft_model": 1, "processor": "x", "reuse": 9999999999999999})", "at most 2^40"},
           {R"({"weft_model": 1, "processor": "x", "speed": 1})", "there is no \"speed\""},
           {R"({"weft_model": 1, "processor": "x", "smallest_chunk": 0})", "at least 1"},
           {R"({"weft_model": 1, "processor": "x", "smallest_chunk": 99999999})", "smallest_chunk"},
           {R"({"weft_model": 1, "processor": "x"})", "others may write it", 0666},
           {std::string(20000, ' '), "20000 bytes"}}) {
    const std::string said = refused(row.text, row.mode);
    EXPECT_NE(said.find(row.says), std::string::npos) << row.text.substr(0, 60) << ": " << said;
    EXPECT_NE(said.find("model.json"), std::string::npos) << said;
  }
  EXPECT_THROW(read_model("/nowhere/model.json", {}), InvalidArgument);
}

}  // namespace
}  // namespace weft
