#include "model/adapter_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "base/half.h"
#include "base/json.h"
#include "model/adapter_spec.h"
#include "support/temp_folder.h"

namespace mlc {
namespace {

// Two layers; the first one has two parts.
AdapterSpec SomeSpec(DType dtype = DType::kFloat32) {
  return {dtype, {{"qkv", 16, {32, 16}}, {"down", 32, {16}}}};
}

// A whole adapter of rank 12, of the first layer alone. Element i of a tensor is i / 4.
struct Written {
  Json head = Json::MakeObject();
  std::string body;

  Written() {
    head.Set("__metadata__",
             Json::MakeObject().Set("format", "mlc-adapter").Set("version", "1").Set("rank", "12"));
    Add("qkv.a", {2, 2, 8, 16});
    Add("qkv.b", {2, 3, 8, 16});
  }

  void Add(const std::string& name, const Shape& shape) {
    Json extents = Json::MakeArray(), offsets = Json::MakeArray();
    int64_t count = 1;
    for (int64_t extent : shape) extents.Append(extent), count *= extent;
    offsets.Append(static_cast<int64_t>(body.size()));
    for (int64_t i = 0; i < count; ++i) {
      float value = 0.25f * static_cast<float>(i);
      body.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    offsets.Append(static_cast<int64_t>(body.size()));
    head.Set(name, Json::MakeObject()
                       .Set("dtype", "F32")
                       .Set("shape", std::move(extents))
                       .Set("data_offsets", std::move(offsets)));
  }

  std::string Bytes() const {
    std::string text = head.Dump(), bytes(8, '\0');
    uint64_t length = text.size();
    std::memcpy(bytes.data(), &length, sizeof(length));
    return bytes + text + body;
  }
};

// The same tests may run in another process at the same time, so the folder is this one's.
std::string WriteFile(const std::string& bytes) {
  static const testing::TempFolder folder;
  return folder.Write("file.mlc-adapter", bytes);
}

TEST(AdapterFile, IsReadInTheFormOfThePool) {
  std::string path = WriteFile(Written().Bytes());
  AdapterWeights floats = *ReadAdapter(path, SomeSpec());
  EXPECT_EQ(floats.rank, 12);
  EXPECT_EQ(floats.num_groups, 2);
  ASSERT_EQ(floats.tensors.size(), 4u);
  EXPECT_EQ(floats.tensors[0].size(), sizeof(float) * 2 * 2 * 8 * 16);
  EXPECT_TRUE(floats.tensors[2].empty() && floats.tensors[3].empty());
  float third;
  std::memcpy(&third, floats.tensors[1].data() + 3 * sizeof(float), sizeof(float));
  EXPECT_EQ(third, 0.75f);
  AdapterWeights halves = *ReadAdapter(path, SomeSpec(DType::kFloat16));
  EXPECT_EQ(halves.hash, floats.hash);
  EXPECT_EQ(2 * halves.tensors[0].size(), floats.tensors[0].size());
  uint16_t half;
  std::memcpy(&half, halves.tensors[1].data() + 3 * sizeof(half), sizeof(half));
  EXPECT_EQ(half, 0x3A00);  // 0.75
}

// A code beside its value, in steps of which the row's largest value has `most`.
void ExpectCode(int code, float value, float largest, int most) {
  EXPECT_NEAR(code, value / largest * static_cast<float>(most), 0.501) << value;
}

// A layer's inputs are fewer than a group of codes.
TEST(AdapterFile, IsReadAsCodesForLayersOfIntegers) {
  std::string path = WriteFile(Written().Bytes());
  for (int64_t step : {1, 2}) {
    AdapterSpec spec = SomeSpec(DType::kFloat16);
    spec.layers[0].group = 32;
    spec.layers[0].step = step;
    AdapterWeights coded = *ReadAdapter(path, spec);
    ASSERT_EQ(coded.tensors.size(), 4u);
    EXPECT_TRUE(coded.tensors[2].empty() && coded.tensors[3].empty());
    const std::vector<char>&a = coded.tensors[0], &b = coded.tensors[1];
    ASSERT_EQ(a.size(), 2u * 2 * 9 * 32);  // groups, parts, scales and quads
    ASSERT_EQ(b.size(), 2u * 3 * 128);
    EXPECT_EQ(2 * spec.group_bytes(),  // and of the other layer's float16
              static_cast<int64_t>(a.size() + b.size()) + 2 * 2 * 128 * (2 + 1));
    for (int row = 0; row < 2 * 2 * 8; ++row) {
      int part = row / 8, rank = row % 8, group = part / 2;
      float largest = 0.25f * static_cast<float>(row * 16 + 15);
      int first = group * 3 + part % 2 * 2, end = group * 3 + 2 + part % 2;  // the part's blocks
      float other = 0.25f * static_cast<float>((end - 1) * 128 + rank * 16 + 15);
      float scale;
      std::memcpy(&scale, &a[part * 288 + rank * 4], sizeof(scale));
      EXPECT_NEAR(scale, largest / 63 * other / 127, 1e-5f * scale);
      for (int i = 0; i < 32; ++i) {
        int place = step == 1 ? i : i % 2 * 16 + i / 8 * 4 + i % 8 / 2;
        int code = a[part * 288 + 32 + (place / 4 * 8 + rank) * 4 + place % 4] - 64;
        ExpectCode(code, i < 16 ? 0.25f * static_cast<float>(row * 16 + i) : 0, largest, 63);
      }
      for (int i = first * 16; i < end * 16; ++i) {
        auto code = static_cast<int8_t>(b[i / 16 * 128 + rank / 2 * 32 + i % 16 * 2 + rank % 2]);
        ExpectCode(code, 0.25f * static_cast<float>(i / 16 * 128 + rank * 16 + i % 16), other, 127);
      }
    }
  }
}

// Every float16 beside its neighbours, and what lies half way between two.
TEST(AdapterFile, HalvesOfManyAreThoseOfEach) {
  std::vector<uint32_t> bits;
  for (uint32_t half = 0; half < 0x7C00; ++half) {
    uint32_t exact = BitsOfFloat(FloatOfHalf(static_cast<uint16_t>(half)));
    for (uint32_t sign : {0u, 0x80000000u}) {
      for (uint32_t more : {0u, 1u, 0xFFFu, 0x1000u, 0x1001u}) {
        if (FloatOfBits(exact + more) < 65520.0f) bits.push_back(sign | (exact + more));
      }
    }
  }
  std::vector<uint16_t> halves(bits.size());
  HalvesOfBits(bits.data(), bits.size(), halves.data());
  for (size_t i = 0; i < bits.size(); ++i) {
    ASSERT_EQ(halves[i], HalfOfFloat(FloatOfBits(bits[i]))) << bits[i];
  }
}

void ExpectRefused(const Written& file, StatusCode code, const std::string& words,
                   DType dtype = DType::kFloat32) {
  Status status = ReadAdapter(WriteFile(file.Bytes()), SomeSpec(dtype)).status();
  EXPECT_EQ(status.code(), code) << words;
  EXPECT_EQ(status.param(), "path") << words;
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

void Replace(Written* file, const char* key, Json value) {
  file->head.Set("__metadata__", Json(*file->head.Find("__metadata__")).Set(key, std::move(value)));
}

TEST(AdapterFile, DamagedAndForeignFilesAreRefused) {
  auto changed = [](const std::function<void(Written*)>& change) {
    Written file;
    change(&file);
    return file;
  };
  constexpr StatusCode kInvalid = StatusCode::kInvalidArgument, kCorrupt = StatusCode::kCorrupt;
  ExpectRefused(changed([](Written* f) { f->head.Set("__metadata__", Json()); }), kInvalid,
                "no adapter in mlc_llm's form");
  ExpectRefused(changed([](Written* f) { Replace(f, "version", "2"); }), StatusCode::kUnsupported,
                "version");
  for (const char* rank : {"", "0", "-8", "9999", "eight"}) {
    ExpectRefused(changed([&](Written* f) { Replace(f, "rank", rank); }), kCorrupt, "no rank");
  }
  ExpectRefused(changed([](Written* f) { Replace(f, "rank", "8"); }), kInvalid, "another model");
  ExpectRefused(changed([](Written* f) { f->Add("gate.a", {2, 1, 8, 16}); }), kInvalid,
                "changes 'gate.a', which the model does not have");
  ExpectRefused(changed([](Written* f) { f->Add("down.a", {2, 2, 8, 16}); }), kCorrupt,
                "one factor without the other");
  ExpectRefused(changed([](Written* f) { f->body.pop_back(); }), kCorrupt, "outside");
  ExpectRefused(changed([](Written* f) {
                  f->head.Set("qkv.a", Json(*f->head.Find("qkv.a")).Set("dtype", "F16"));
                }),
                kCorrupt, "float32");
  ExpectRefused(changed([](Written* f) {
                  Json offsets = Json::MakeArray();
                  offsets.Append(std::numeric_limits<int64_t>::max() - 8);
                  offsets.Append(std::numeric_limits<int64_t>::min());
                  f->head.Set("qkv.a",
                              Json(*f->head.Find("qkv.a")).Set("data_offsets", std::move(offsets)));
                }),
                kCorrupt, "outside");
  auto with_value = [&](float value) {
    return changed([&](Written* f) { std::memcpy(f->body.data() + 64, &value, sizeof(value)); });
  };
  ExpectRefused(with_value(std::numeric_limits<float>::infinity()), kCorrupt, "infinite");
  ExpectRefused(with_value(std::numeric_limits<float>::quiet_NaN()), kCorrupt, "NaN");
  ExpectRefused(with_value(1e6f), StatusCode::kUnsupported, "too large", DType::kFloat16);
}

// Layers of integers have no limit of float16, but scales that are products of those of A and B.
TEST(AdapterFile, CodesWhoseScalesAreTooLargeAreRefused) {
  AdapterSpec spec = SomeSpec(DType::kFloat16);
  spec.layers[0].group = 32;
  spec.layers[0].step = 1;
  // Of rank 1 of the first part: a value of A, and all of B.
  auto read = [&](float a, float b) {
    Written file;
    auto put = [&](size_t index, float value) {
      std::memcpy(file.body.data() + index * sizeof(value), &value, sizeof(value));
    };
    for (size_t block = 0; block < 2; ++block) {
      for (size_t i = 16; i < 32; ++i) put(512 + block * 128 + i, b);
    }
    put(16, a);
    return ReadAdapter(WriteFile(file.Bytes()), spec);
  };
  struct Case {
    float a, b;
    bool fits;
  };
  constexpr float kMost = std::numeric_limits<float>::max();
  for (const Case& each :
       {Case{1e6f, 1e6f, true}, Case{1e30f, 1e-20f, true}, Case{1e30f, 1e30f, false},  // infinite
        Case{kMost, kMost, false}, Case{1e12f, 1e12f, false}, Case{kMost, 1.0f, false}}) {
    Status status = read(each.a, each.b).status();
    EXPECT_EQ(status.ok(), each.fits) << each.a << " " << each.b;
    if (each.fits) continue;
    EXPECT_EQ(status.code(), StatusCode::kUnsupported) << each.a;
    EXPECT_EQ(status.param(), "path") << each.a;
    EXPECT_NE(status.message().find("holds numbers that are too large: those of 'qkv.a'"),
              std::string::npos)
        << status.message();
  }
}

// Tests of the metadata, whose own file is full.
TEST(ReadAdapterSpec, GroupsThatTheCodesDoNotHaveAreRefused) {
  auto read = [](const std::string& more) {
    std::string text = R"({"adapters": {"ranks": 8, "dtype": "float16", "layers": [
        {"name": "qkv", "inputs": 64, "outputs": [32, 16])" +
                       more + "}]}}";
    return ReadAdapterSpec(*Json::Parse(text));
  };
  EXPECT_EQ((*read(""))->layers[0].group, 0);
  EXPECT_EQ((*read(R"(, "group": 40, "step": 2)"))->layers[0].step, 2);
  struct Case {
    const char *more, *param;
  };
  for (const Case& bad :
       {Case{R"(, "group": 0, "step": 1)", "adapters"},
        Case{R"(, "group": -32, "step": 1)", "adapters"},
        Case{R"(, "group": 2048, "step": 1)", "adapters"},
        Case{R"(, "group": 34, "step": 1)", "adapters"},
        Case{R"(, "group": 36, "step": 2)", "adapters"},  // a multiple of 4 alone
        Case{R"(, "group": 32, "step": 0)", "adapters"},
        Case{R"(, "group": 32, "step": -1)", "adapters"},
        Case{R"(, "group": 48, "step": 3)", "adapters"},
        Case{R"(, "group": "32", "step": 1)", "group"},
        Case{R"(, "group": 32, "step": 1.5)", "step"}, Case{R"(, "group": 32)", "step"}}) {
    Status status = read(bad.more).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << bad.more;
    EXPECT_EQ(status.param(), bad.param) << bad.more;
  }
}

TEST(AdapterFile, EveryBeginningOfAFileIsRefused) {
  std::string whole = Written().Bytes();
  for (size_t length = 0; length < whole.size(); length += length < 700 ? 1 : 997) {
    Status status = ReadAdapter(WriteFile(whole.substr(0, length)), SomeSpec()).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << length;
  }
  Status missing = ReadAdapter("/no/such/adapter", SomeSpec()).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.param(), "path");
}

}  // namespace
}  // namespace mlc
