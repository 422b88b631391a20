#include "chat/request/media.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "chat/answer.h"
#include "chat/chat_engine.h"
#include "chat/request/request_builder.h"
#include "chat/test_model.h"
#include "support/tiny_pictures.h"

namespace mlc {
namespace {

using testing::Answer;
using testing::ChatBundle;
using testing::ChatInfo;
using testing::kByteVocab;
using testing::ParseRequest;

const std::string kCat = *DecodeBase64(testing::kTinyPictures[0].base64);
const std::string kDog = *DecodeBase64(testing::kTinyPictures[3].base64);

// Shows texts as they are and '#' for a picture.
constexpr char kTemplate[] =
    "{% for part in messages[-1].content %}"
    "{% if part.type == 'image' %}#{% else %}{{ part.text }}{% endif %}{% endfor %}";

ModelBundle SeeingBundle() {
  ModelBundle bundle = ChatBundle(kTemplate);
  bundle.config.model_type = "fake";
  bundle.config.image_token_id = '#';
  bundle.tower = std::make_shared<FakeTower>(ChatInfo().embedding_size);
  return bundle;
}

// A tower whose marker is no token.
class MarkedTower : public FakeTower {
 public:
  explicit MarkedTower(std::string marker)
      : FakeTower(ChatInfo().embedding_size), marker_(std::move(marker)) {}
  const std::string& marker() const override { return marker_; }

 private:
  std::string marker_;
};

// A black picture.
std::string Bmp(int width, int height) {
  auto bytes = [](int number, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += static_cast<char>(number >> (8 * i));
    return out;
  };
  int row = (3 * width + 3) / 4 * 4;
  return "BM" + bytes(54 + row * height, 4) + bytes(0, 4) + bytes(54, 4) + bytes(40, 4) +
         bytes(width, 4) + bytes(height, 4) + bytes(1, 2) + bytes(24, 2) + std::string(24, '\0') +
         std::string(static_cast<size_t>(row * height), '\0');
}

// What one view of the fake tower becomes.
void AppendPicture(const ModelBundle& bundle, const std::string& bytes, PictureDetail detail,
                   Prompt* prompt) {
  auto rows = std::make_shared<LateRows>(PictureKey(bytes, detail, *bundle.tower), FakeTower::kRows,
                                         bundle.tower->width(), nullptr);
  prompt->Append(*EmbeddingRows::Late(rows, 0, FakeTower::kRows));
}

std::string DataUrl(const std::string& bytes) {
  return "data:image/png;base64," + EncodeBase64(bytes);
}

// A message of the texts "ab" and "c" with pictures between and behind them.
std::string Look(const std::vector<std::string>& urls) {
  std::string parts = R"({"type": "text", "text": "ab"})";
  for (const std::string& url : urls) {
    parts += R"(, {"type": "image_url", "image_url": {"url": ")" + url + R"("}})";
  }
  parts += R"(, {"type": "text", "text": "c"})";
  return R"({"messages": [{"role": "user", "content": [)" + parts + R"(]}], "max_tokens": 4,)" +
         R"( "temperature": 0})";
}

TEST(Media, PicturesTakeThePlaceOfTheirTokens) {
  ModelBundle bundle = SeeingBundle();
  Result<Request> built =
      BuildRequest(bundle, ParseRequest(Look({DataUrl(kCat), "buffer:0"})), {kDog});
  ASSERT_TRUE(built.ok()) << built.status().message();
  Prompt expected({'a', 'b'});
  AppendPicture(bundle, kCat, PictureDetail::kAuto, &expected);
  AppendPicture(bundle, kDog, PictureDetail::kAuto, &expected);
  expected.Append({'c'});
  EXPECT_TRUE(built->prompt == expected);
}

TEST(Media, APicturesSizeAndDetailSayWhatItBecomes) {
  ModelBundle bundle = SeeingBundle();
  // 130 x 70 pixels: two rows of three views
  auto ask = [&](const char* detail) {
    return ParseRequest(R"({"messages": [{"role": "user", "content": [{"type": "image_url",)"
                        R"( "image_url": {"url": "buffer:0", "detail": ")" +
                        std::string(detail) + R"("}}]}]})");
  };
  auto spans = [&](const char* detail) {
    Result<Request> built = BuildRequest(bundle, ask(detail), {Bmp(130, 70)});
    MLC_ICHECK(built.ok());
    std::string shape;
    for (const Prompt::Span& span : built->prompt.spans()) {
      shape += span.rows ? std::to_string(span.size) + " "
                         : std::string(span.tokens.begin(), span.tokens.end());
    }
    EXPECT_EQ(*CountPrompt(bundle, ask(detail), {Bmp(130, 70)}), built->prompt.size());
    return shape;
  };
  EXPECT_EQ(spans("auto"), "4 4 4 \n4 4 4 ");
  EXPECT_EQ(spans("high"), "4 4 4 \n4 4 4 ");
  EXPECT_EQ(spans("original"), spans("high"));
  EXPECT_EQ(spans("low"), "4 ");
}

// A text of the user that looks like the template's marker is text.
TEST(Media, ATemplateOfTextsShowsAPictureAsItsMarker) {
  ModelBundle bundle = SeeingBundle();
  bundle.chat_template = ChatBundle("{{ messages[-1].content + '' }}").chat_template;
  ASSERT_FALSE(bundle.chat_template->TakesContentParts());
  Result<Request> built = BuildRequest(bundle, ParseRequest(Look({DataUrl(kCat)})), {});
  ASSERT_TRUE(built.ok()) << built.status().message();
  Prompt expected({'a', 'b', '\n'});
  AppendPicture(bundle, kCat, PictureDetail::kAuto, &expected);
  expected.Append({'\n', 'c'});
  EXPECT_TRUE(built->prompt == expected);
}

TEST(Media, AMarkerThatAUserTypesIsNoPicture) {
  for (bool is_special : {true, false}) {
    ModelBundle bundle = SeeingBundle();
    std::string marker = is_special ? "<start>" : "<picture>";
    std::string shown =
        "{% for part in messages[-1].content %}{% if part.type == 'image' %}" + marker;
    bundle.chat_template =
        ChatBundle(shown + "{% else %}{{ part.text }}{% endif %}{% endfor %}").chat_template;
    bundle.config.image_token_id = bundle.tokenizer->TokenToId("<start>");
    bundle.tower = std::make_shared<MarkedTower>(is_special ? "" : marker);
    std::string text = "a" + marker;
    Result<Request> built = BuildRequest(
        bundle,
        ParseRequest(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": ")" +
                     text + R"("}, {"type": "image_url", "image_url": {"url": "buffer:0"}},)" +
                     R"( {"type": "text", "text": ")" + text + R"(<start>"}]}]})"),
        {kCat});
    ASSERT_TRUE(built.ok()) << built.status().message();
    Prompt expected(testing::Bytes(text));
    AppendPicture(bundle, kCat, PictureDetail::kAuto, &expected);
    expected.Append(testing::Bytes(text + "<start>"));
    EXPECT_TRUE(built->prompt == expected) << marker;
  }
}

TEST(Media, PicturesThatAloneExceedTheContextAreNotDecoded) {
  ModelBundle bundle = SeeingBundle();
  bundle.length_limit.tokens = 512;
  std::vector<std::string> urls(300, "buffer:0");
  std::string damaged = kDog.substr(0, kDog.size() - 8);
  ASSERT_TRUE(ReadPictureSize(damaged).ok() && !DecodePicture(damaged).ok());
  Result<Request> built = BuildRequest(bundle, ParseRequest(Look(urls)), {damaged});
  ASSERT_FALSE(built.ok());
  EXPECT_TRUE(built.status().Is(Reason::kContextLengthExceeded)) << built.status().message();
  EXPECT_EQ(built.status().param(), "messages");
}

TEST(Media, Base64AloneIsAPictureAsLlamaCppTakesIt) {
  ModelBundle bundle = SeeingBundle();
  Result<Request> whole = BuildRequest(bundle, ParseRequest(Look({DataUrl(kCat)})));
  Result<Request> alone = BuildRequest(bundle, ParseRequest(Look({EncodeBase64(kCat)})));
  ASSERT_TRUE(whole.ok() && alone.ok()) << alone.status().message();
  EXPECT_TRUE(whole->prompt == alone->prompt);
}

TEST(Media, WhatIsWrongIsNamed) {
  struct Case {
    std::vector<std::string> urls;
    MediaBuffers buffers;
    StatusCode code;
    const char* param;
  };
  const char* part = "messages[0].content[1]";
  const Case cases[] = {
      {{"buffer:0"}, {}, StatusCode::kInvalidArgument, part},
      {{"buffer:1"}, {kCat}, StatusCode::kInvalidArgument, part},
      {{"buffer:-1"}, {kCat}, StatusCode::kInvalidArgument, part},
      {{"buffer:"}, {kCat}, StatusCode::kInvalidArgument, part},
      {{"buffer:0x"}, {kCat}, StatusCode::kInvalidArgument, part},
      {{"buffer:99999999999999999999"}, {kCat}, StatusCode::kInvalidArgument, part},
      {{"data:image/png;base64,*"}, {}, StatusCode::kInvalidArgument, part},
      {{"data:image/png;base64,"}, {}, StatusCode::kInvalidArgument, part},
      {{"data:image/png,cat"}, {}, StatusCode::kInvalidArgument, part},
      {{"data:"}, {}, StatusCode::kInvalidArgument, part},
      {{"ftp://somewhere/cat.png"}, {}, StatusCode::kUnsupported, part},
      {{"/etc/passwd"}, {}, StatusCode::kUnsupported, part},
      {{"buffer:0"}, {kCat, kDog}, StatusCode::kInvalidArgument, "buffers[1]"},
      {{}, {kCat}, StatusCode::kInvalidArgument, "buffers[0]"},
  };
  ModelBundle bundle = SeeingBundle();
  for (const Case& c : cases) {
    Result<Request> built = BuildRequest(bundle, ParseRequest(Look(c.urls)), c.buffers);
    ASSERT_FALSE(built.ok()) << (c.urls.empty() ? "" : c.urls[0]);
    EXPECT_EQ(built.status().code(), c.code) << built.status().message();
    EXPECT_EQ(built.status().param(), c.param) << built.status().message();
  }
}

TEST(Media, BytesThatAreNoPictureSayWhy) {
  ModelBundle bundle = SeeingBundle();
  struct Case {
    std::string bytes;
    const Reason& reason;
  };
  const Case cases[] = {{"cat", Reason::kImageParseError},
                        {kCat.substr(0, kCat.size() / 2), Reason::kImageParseError},
                        {"%PDF-1.7", Reason::kUnsupportedImageMediaType}};
  for (const Case& c : cases) {
    Result<Request> built = BuildRequest(bundle, ParseRequest(Look({DataUrl(c.bytes)})));
    ASSERT_FALSE(built.ok());
    EXPECT_TRUE(built.status().Is(c.reason)) << built.status().message();
    EXPECT_EQ(built.status().param(), "messages[0].content[1]");
  }
}

TEST(Media, AModelWithoutATowerSaysWhichItIs) {
  ModelBundle bundle = ChatBundle();
  bundle.config.model_type = "llama";
  Result<Request> built = BuildRequest(bundle, ParseRequest(Look({DataUrl(kCat)})));
  EXPECT_EQ(built.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(built.status().param(), "messages[0].content[1]");
  EXPECT_NE(built.status().message().find("'llama'"), std::string::npos);
}

TEST(Media, ATemplateThatHidesAPictureIsNotBelieved) {
  ModelBundle bundle = SeeingBundle();
  bundle.chat_template =
      ChatBundle("{% for part in messages[-1].content %}{{ part.text }}{% endfor %}").chat_template;
  Result<Request> built = BuildRequest(bundle, ParseRequest(Look({DataUrl(kCat)})));
  EXPECT_EQ(built.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(built.status().message().find("0 of 1"), std::string::npos);
}

// From the route to the prefix cache: the same picture as a buffer and as a URL is one content.
TEST(Media, AnEngineAnswersAboutAPicture) {
  std::unique_ptr<ChatEngine> engine = *ChatEngine::Create(R"({"num_threads": 1})");
  auto model = std::make_unique<FakeModel>(ChatInfo(), FakeModel::HashOfHistory(kByteVocab));
  ASSERT_TRUE(engine->LoadModel(std::move(model), SeeingBundle(), "fake").ok());
  auto ask = [&](const std::string& url, const MediaBuffers& buffers) {
    Answer answer;
    Result<RequestId> id =
        engine->Submit("chat.completions", Look({url}), answer.Callback(), buffers);
    EXPECT_TRUE(id.ok()) << id.status().message();
    EXPECT_TRUE(answer.WaitForEnd());
    return answer.last();
  };
  auto cached = [](const Json& response) {
    return response.Find("usage")->Find("prompt_tokens_details")->Find("cached_tokens")->as_int();
  };
  auto said = [](const Json& response) { return response.Find("choices")->Dump(); };
  Json cat = ask(DataUrl(kCat), {}), again = ask("buffer:0", {kCat}), dog = ask(DataUrl(kDog), {});
  EXPECT_EQ(cat.Find("usage")->Find("prompt_tokens")->as_int(), 2 + FakeTower::kRows + 1);
  EXPECT_EQ(cached(again), 2 + FakeTower::kRows);
  EXPECT_EQ(cached(dog), 2);
  EXPECT_EQ(said(again), said(cat));
  EXPECT_NE(said(dog), said(cat));
  Answer answer;
  Result<RequestId> refused =
      engine->Submit("tokenize", R"({"text": "x"})", answer.Callback(), {kCat});
  EXPECT_EQ(refused.status().param(), "buffers");
}

}  // namespace
}  // namespace mlc
