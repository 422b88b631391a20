#include "model/model_config.h"

#include <gtest/gtest.h>

#include "model/good_config.h"

namespace mlc {
namespace {

TEST(ParseLibraryMetadata, ReadsWhatTheCompilerWrites) {
  Result<LibraryMetadata> metadata = ParseLibraryMetadata(GoodMetadata().Dump(), "lib.so");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->info.page_size, 16);
  EXPECT_EQ(metadata->info.kv_cache_dtype, "f32");
  EXPECT_EQ(metadata->info.page_bytes, 2 * 3 * 16 * 64 * 4 + 2 * 16 * 32 * 2);
  EXPECT_EQ(metadata->info.weight_bytes, 24);
  ASSERT_EQ(metadata->layers.size(), 2u);
  const LayerPages &wide = metadata->layers[0], &narrow = metadata->layers[1];
  EXPECT_EQ(wide.page_shape, (Shape{2, 3, 16, 64}));
  ASSERT_EQ(wide.slot_runs.size(), 2u);
  EXPECT_EQ(wide.slot_runs[1].blocks, 3);
  EXPECT_EQ(wide.slot_runs[1].width, 64);
  EXPECT_EQ(narrow.dtype, DType::kFloat16);
  EXPECT_EQ(narrow.page_bytes, 2 * 16 * 32 * 2);
  EXPECT_EQ(narrow.sliding_window_size, 512);
  ASSERT_EQ(metadata->params.size(), 1u);
  EXPECT_EQ(metadata->params[0].name, "w");
  EXPECT_EQ(metadata->params[0].shape, (Shape{2, 3}));
}

TEST(ParseLibraryMetadata, CodesOf8BitsAreWords) {
  Json layer = Json()
                   .Set("page_shape", Json(Json::Array{2, 2, 16 * (8 + 1)}))
                   .Set("slot_runs", *Json::Parse("[[18, 1], [1, 8], [1, 1], [1, 8], [1, 1]]"))
                   .Set("dtype", "uint32")
                   .Set("sliding_window_size", -1);
  Json pages = Json().Set("page_size", 16).Set("dtype", "q8");
  Json json = GoodMetadata().Set("kv_cache", pages.Set("layers", Json(Json::Array{layer})));
  Result<LibraryMetadata> metadata = ParseLibraryMetadata(json.Dump(), "lib.so");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->info.kv_cache_dtype, "q8");
  EXPECT_EQ(metadata->info.page_bytes, 2 * 2 * 16 * (32 + 4));  // codes, and float32 scales
}

TEST(ParseLibraryMetadata, AParameterMayBeSomeRowsOrColumnsOfATensor) {
  const std::string param = R"([{"name": "w", "shape": [2, 3], "dtype": "float32", )";
  auto parse = [&](const std::string& part) {
    return ParseLibraryMetadata(With(GoodMetadata(), "params", param + part + "}]").Dump(), "l");
  };
  for (auto [part, axis] : {std::pair(R"("rows": [5, 8])", 0), {R"("columns": [5, 8])", 1}}) {
    Result<LibraryMetadata> metadata = parse(part);
    ASSERT_TRUE(metadata.ok()) << metadata.status().message();
    EXPECT_EQ(metadata->params[0].first, 5);
    EXPECT_EQ(metadata->params[0].extent, 8);
    EXPECT_EQ(metadata->params[0].axis, axis);
  }
  for (const char* part :
       {R"("rows": [7, 8])", R"("rows": [-1, 7])", R"("rows": [0, 1])", R"("rows": [0])",
        R"("rows": [0, "7"])", R"("rows": 3)", R"("columns": [6, 8])", R"("columns": [0, 2])",
        R"("rows": [9223372036854775807, 9223372036854775807])",
        R"("rows": [0, 8], "columns": [0, 8])"}) {
    Status status = parse(part).status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << part;
    EXPECT_EQ(status.param(), "params") << part;
  }
}

TEST(ParseLibraryMetadata, FunctionsSayWhatTheyTakeAndGive) {
  Result<LibraryMetadata> metadata = ParseLibraryMetadata(GoodMetadata().Dump(), "l");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_FALSE(metadata->info.token_trees);
  EXPECT_EQ(metadata->info.hidden_size, 0);
  const FunctionSpec& step = metadata->functions.at("batch_prefill");
  EXPECT_EQ(step.inputs[1].size, "n");
  EXPECT_EQ(step.inputs[1].row, Shape{3});
  EXPECT_EQ(step.inputs[2].size, "");
  EXPECT_TRUE(step.Takes("rotary") && step.Gives("logits"));
  EXPECT_FALSE(step.Takes("rota") || step.Gives("hidden_states"));
  Json more = *Json::Parse(R"({"batch_prefill": {
      "inputs": [{"name": "copy_source", "shape": ["c"], "dtype": "int32"},
                 {"name": "embeddings", "shape": ["n", 1728], "dtype": "float32"}],
      "results": ["logits", "hidden_states", "layer_states"]}})");
  Json with = GoodMetadata().Set("hidden_size", 576).Set("functions", more);
  metadata = ParseLibraryMetadata(with.Set("hidden_layers", *Json::Parse("[2, 5]")).Dump(), "l");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_TRUE(metadata->info.token_trees);
  EXPECT_EQ(metadata->info.hidden_size, 576);
  EXPECT_EQ(metadata->info.embedding_size, 1728) << "with what is behind it";
  EXPECT_EQ(metadata->info.num_chosen_layers, 2);
}

TEST(ParseLibraryMetadata, AnEagleLayerReadsTheLayersThatAStepGives) {
  const char* eagle = R"({"kind": "eagle",
      "functions": {"embed": {"inputs": [], "results": ["embeddings"]},
                    "fuse_states": {"inputs": [], "results": ["states"]},
                    "batch_prefill": {"inputs": [], "results": ["logits", "hidden_states"]}},
      "kv_cache": {"page_size": 16, "layers": [{"page_shape": [2, 16, 8], "slot_runs": [[2, 8]],
                   "dtype": "float16", "sliding_window_size": -1}]},
      "params": [], "memory_usage": {"batch_prefill": {"n": 9}, "fuse_states": {"m": 4}}})";
  auto parse = [&](const char* results) {
    std::string step = R"({"batch_prefill": {"inputs": [], "results": )" + std::string(results);
    Json with = With(GoodMetadata().Set("hidden_size", 4), "functions", (step + "}}").c_str());
    return ParseLibraryMetadata(With(With(with, "hidden_layers", "[0, 1]"), "draft", eagle).Dump(),
                                "l");
  };
  Result<LibraryMetadata> metadata = parse(R"(["logits", "hidden_states", "layer_states"])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  const ModelInfo& layer = metadata->draft->info;
  EXPECT_EQ(layer.num_chosen_layers, 2);
  EXPECT_EQ(layer.state_size(), 8);
  EXPECT_EQ(layer.head_size, 4);
  EXPECT_EQ(layer.row_bytes, 9 + 4);
  EXPECT_EQ(parse(R"(["logits", "hidden_states"])")->info.num_chosen_layers, 0);
}

TEST(ParseLibraryMetadata, EveryFaultOfTheFunctionsNamesThem) {
  for (const char* functions :
       {"absent", "[]", R"({"embed": {}})", R"({"embed": {"inputs": [], "results": [3]}})",
        R"({"embed": {"inputs": [{"name": "x", "shape": [], "dtype": "int32"}], "results": []}})",
        R"({"embed": {"inputs": [{"name": "x", "shape": [4], "dtype": "int32"}], "results": []}})",
        R"({"embed": {"inputs": [{"name": "x", "shape": ["n"], "dtype": "i"}], "results": []}})"}) {
    Status status =
        ParseLibraryMetadata(With(GoodMetadata(), "functions", functions).Dump(), "l").status();
    EXPECT_EQ(status.code(), StatusCode::kCorrupt) << functions;
    EXPECT_EQ(status.param(), "functions") << functions;
  }
}

TEST(ParseLibraryMetadata, AnMtpLayerIsAModelOfItsOwn) {
  const char* mtp = R"({"kind": "mtp",
      "functions": {"embed": {"inputs": [], "results": ["embeddings"]},
                    "copy_kv_pages": {"inputs": [], "results": []},
                    "batch_prefill": {"inputs": [], "results": ["logits", "hidden_states"]}},
      "kv_cache": {"page_size": 16, "layers": [{"page_shape": [2, 16, 8], "slot_runs": [[2, 8]],
                   "dtype": "float16", "sliding_window_size": -1}]},
      "params": [{"name": "eh_proj", "shape": [4, 8], "dtype": "float32"}],
      "memory_usage": {"batch_prefill": {"n": 9}}})";
  Json with = GoodMetadata().Set("hidden_size", 4);
  EXPECT_EQ(ParseLibraryMetadata(with.Dump(), "l")->draft, nullptr);
  Result<LibraryMetadata> metadata = ParseLibraryMetadata(With(with, "draft", mtp).Dump(), "l");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_FALSE(metadata->info.takes_states);
  const LibraryMetadata& layer = *metadata->draft;
  EXPECT_TRUE(layer.info.takes_states);
  EXPECT_EQ(layer.functions.at("batch_prefill").name, "draft_batch_prefill");
  EXPECT_EQ(layer.info.vocab_size, metadata->info.vocab_size);
  EXPECT_EQ(layer.info.hidden_size, 4);
  EXPECT_EQ(layer.info.page_bytes, 2 * 16 * 8 * 2);
  EXPECT_EQ(layer.info.weight_bytes, 4 * 8 * 4);
  EXPECT_EQ(layer.info.row_bytes, 9);
  Status fault = ParseLibraryMetadata(With(with, "draft", "{}").Dump(), "l").status();
  EXPECT_EQ(fault.code(), StatusCode::kCorrupt);
  Json of_shards = With(With(with, "draft", mtp), "tensor_parallel_shards", "2");
  Status refused = ParseLibraryMetadata(of_shards.Dump(), "l").status();
  EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
  EXPECT_EQ(refused.param(), "tensor_parallel_shards");
}

TEST(ParseLibraryMetadata, MedusasHeadsHaveNeitherStepsNorPages) {
  const std::string medusa = R"({"kind": "medusa", "heads": HEADS,
      "functions": {"get_logits": {"inputs": [], "results": ["logits"]}},
      "params": [{"name": "medusa_head.0.1.weight", "shape": [4, 8], "dtype": "float32"}],
      "memory_usage": {"get_logits": {"fixed": 3, "m": 9}}})";
  auto parse = [&](const char* heads) {
    std::string text = medusa;
    text.replace(text.find("HEADS"), 5, heads);
    Json with = GoodMetadata().Set("hidden_size", 4);
    return ParseLibraryMetadata(With(with, "draft", text.c_str()).Dump(), "l");
  };
  Result<LibraryMetadata> metadata = parse("3");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  const ModelInfo& heads = metadata->draft->info;
  EXPECT_EQ(heads.draft_kind, "medusa");
  EXPECT_FALSE(heads.takes_states);
  EXPECT_EQ(heads.head_size, 3 * metadata->info.vocab_size);
  EXPECT_EQ(heads.page_bytes, 0);
  EXPECT_EQ(heads.weight_bytes, 4 * 8 * 4);
  EXPECT_EQ(heads.step_bytes, 3);
  EXPECT_EQ(heads.logit_row_bytes, 9);
  for (const char* none : {"0", "17", "\"3\""}) {
    EXPECT_EQ(parse(none).status().code(), StatusCode::kCorrupt) << none;
  }
}

TEST(ParseLibraryMetadata, TemporariesOfStepsAndWhatRecordedOnesKeep) {
  auto parse = [](const char* usage) {
    return ParseLibraryMetadata(With(GoodMetadata(), "memory_usage", usage).Dump(), "l");
  };
  Result<LibraryMetadata> metadata = parse(
      R"({"batch_prefill": {"fixed": 1, "n": 20, "m": 300, "h": 7, "u": 96},
          "batch_decode_tokens": {"fixed": 4, "n": 5000, "m": 60000}})");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->info.step_bytes, 5);
  EXPECT_EQ(metadata->info.row_bytes, 20);
  EXPECT_EQ(metadata->info.unit_bytes, 96);
  EXPECT_EQ(metadata->info.logit_row_bytes, 307);
  EXPECT_EQ(metadata->info.decode_row_bytes, 65000);
  for (const char* usage :
       {R"({"batch_prefill": {"fixed": -1}})", R"({"batch_decode_tokens": {"m": 1e15}})"}) {
    EXPECT_EQ(parse(usage).status().code(), StatusCode::kCorrupt) << usage;
  }
}

TEST(ParseLibraryMetadata, EveryFaultNamesItsField) {
  const Fault faults[] = {{"schema_version", "absent"},
                          {"model_type", "absent"},
                          {"quantization", "1"},
                          {"context_window_size", "0"},
                          {"context_window_size", "1e99"},
                          {"prefill_chunk_size", "0"},
                          {"prefill_chunk_size", "17179869184"},
                          {"max_batch_size", "0"},
                          {"max_batch_size", "65537"},
                          {"vocab_size", "16777217"},
                          {"vocab_size", "absent"},
                          {"kv_cache", "absent"},
                          {"params", "absent"},
                          {"params", "{}"}};
  for (const Fault& fault : faults) {
    Status status =
        ParseLibraryMetadata(With(GoodMetadata(), fault.key, fault.value).Dump(), "lib.so")
            .status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << fault.key << " = " << fault.value;
    EXPECT_EQ(status.param(), fault.key) << status.message();
    EXPECT_EQ(status.message().rfind("lib.so: ", 0), 0u) << status.message();
  }
}

TEST(ParseLibraryMetadata, EveryFaultOfThePagesNamesItsField) {
  const Fault faults[] = {{"page_size", "0"},
                          {"page_size", "1025"},
                          {"layers", "absent"},
                          {"layers", "{}"},
                          {"layers", "[]"},
                          {"page_shape", "7"},
                          {"page_shape", "absent"},
                          {"page_shape", "[2, 0]"},
                          {"page_shape", "[2, 1.5]"},
                          {"page_shape", "[4294967296, 4294967296]"},
                          {"slot_runs", "7"},
                          {"slot_runs", "absent"},
                          {"slot_runs", "[]"},
                          {"slot_runs", "[[192, 1]]"},
                          {"slot_runs", "[[192, 1], [4, 64]]"},
                          {"slot_runs", "[[192, 1], [-3, -64]]"},
                          {"slot_runs", "[[192, 1], [3]]"},
                          {"slot_runs", "[[9223372036854775807, 9223372036854775807]]"},
                          {"dtype", "\"float7\""},
                          {"dtype", "absent"},
                          {"sliding_window_size", "absent"},
                          {"sliding_window_size", "-2"}};
  for (const Fault& fault : faults) {
    Json pages = *GoodMetadata().Find("kv_cache");
    bool of_all = pages.Find(fault.key) != nullptr;
    if (of_all) {
      pages = With(pages, fault.key, fault.value);
    } else {
      Json::Array layers = pages.Find("layers")->as_array();
      layers[1] = With(layers[1], fault.key, fault.value);
      pages = pages.Set("layers", Json(layers));
    }
    Status status =
        ParseLibraryMetadata(GoodMetadata().Set("kv_cache", pages).Dump(), "l").status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << fault.key << " = " << fault.value;
    EXPECT_EQ(status.param(), fault.key) << status.message();
  }
  EXPECT_FALSE(ParseLibraryMetadata(With(GoodMetadata(), "kv_cache", "7").Dump(), "l").ok());
}

TEST(ParseLibraryMetadata, TheWindowIsTheWidestOfTheLayers) {
  auto window_of = [](const char* wide, const char* narrow) {
    Json pages = *GoodMetadata().Find("kv_cache");
    Json::Array layers = pages.Find("layers")->as_array();
    layers[0] = With(layers[0], "sliding_window_size", wide);
    layers[1] = With(layers[1], "sliding_window_size", narrow);
    Json json = GoodMetadata().Set("kv_cache", pages.Set("layers", Json(layers)));
    return ParseLibraryMetadata(json.Dump(), "l")->info.sliding_window_size;
  };
  EXPECT_EQ(window_of("1024", "512"), 1024);
  EXPECT_EQ(window_of("-1", "512"), -1);  // pages slide when every layer does
  EXPECT_EQ(window_of("1024", "-1"), -1);
}

TEST(ParseLibraryMetadata, AnInputSaysThatLayersWithAWindowHaveTheirOwnTable) {
  Json pages = *GoodMetadata().Find("kv_cache");
  Json::Array layers = pages.Find("layers")->as_array();
  layers[0] = With(layers[0], "sliding_window_size", "512");
  layers[1] = With(layers[1], "sliding_window_size", "-1");
  Json json = GoodMetadata().Set("kv_cache", pages.Set("layers", Json(layers)));
  Result<LibraryMetadata> one = ParseLibraryMetadata(json.Dump(), "l");
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(one->info.has_windowed_pages()) << "an older library";
  Json functions = *Json::Parse(R"({"batch_prefill": {
      "inputs": [{"name": "windowed_indices", "shape": ["p"], "dtype": "int32"}],
      "results": ["logits"]}})");
  Result<LibraryMetadata> two = ParseLibraryMetadata(json.Set("functions", functions).Dump(), "l");
  ASSERT_TRUE(two.ok()) << two.status().message();
  EXPECT_EQ(two->info.layer_window, 512);
  EXPECT_EQ(two->info.PageBytes(),
            (std::vector<int64_t>{two->layers[1].page_bytes, two->layers[0].page_bytes}));
  EXPECT_TRUE(two->layers[0].is_windowed);
  EXPECT_FALSE(two->layers[1].is_windowed);
}

TEST(ParseLibraryMetadata, RecurrentLayersHaveStates) {
  auto parse = [](const std::string& states) {
    return ParseLibraryMetadata(With(GoodMetadata(), "states", states).Dump(), "l");
  };
  const std::string conv = R"({"layer": 1, "shape": [2, 48], "dtype": "float32"})";
  Result<LibraryMetadata> metadata =
      parse("[" + conv + R"(, {"layer": 1, "shape": [4, 8, 16], "dtype": "float16"}])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  ASSERT_EQ(metadata->states.size(), 2u);
  EXPECT_EQ(metadata->states[1].shape, (Shape{4, 8, 16}));
  EXPECT_EQ(metadata->states[1].bytes, 1024);
  EXPECT_EQ(metadata->info.state_bytes, 2 * 48 * 4 + 1024);
  EXPECT_EQ(ParseLibraryMetadata(GoodMetadata().Dump(), "l")->info.state_bytes, 0);
  const Fault faults[] = {{"states", "7"},
                          {"shape", R"([{"layer": 1, "dtype": "float32"}])"},
                          {"shape", R"([{"shape": [0], "dtype": "float32"}])"},
                          {"shape", R"([{"shape": [4294967296], "dtype": "float32"}])"},
                          {"dtype", R"([{"shape": [4], "dtype": "float7"}])"}};
  for (const Fault& fault : faults) {
    Status status = parse(fault.value).status();
    ASSERT_EQ(status.code(), StatusCode::kCorrupt) << fault.value;
    EXPECT_EQ(status.param(), fault.key) << status.message();
  }
}

TEST(ParseLibraryMetadata, OnlyAModelWithStatesMayHaveNoPages) {
  auto parse = [](const std::string& states) {
    Json pages = Json().Set("page_size", 16).Set("layers", Json(Json::Array{}));
    Json json = With(GoodMetadata().Set("kv_cache", pages), "states", states);
    return ParseLibraryMetadata(json.Dump(), "l");
  };
  Result<LibraryMetadata> metadata = parse(R"([{"layer": 0, "shape": [8], "dtype": "float32"}])");
  ASSERT_TRUE(metadata.ok()) << metadata.status().message();
  EXPECT_EQ(metadata->info.page_bytes, 0);
  EXPECT_EQ(metadata->info.state_bytes, 32);
  EXPECT_EQ(metadata->info.sliding_window_size, -1);
  EXPECT_EQ(parse("[]").status().param(), "layers");
}

TEST(ParseLibraryMetadata, SizesThatOverflowAreRefused) {
  const char* huge = R"({"name": "w", "shape": [9223372036854775807], "dtype": "int8"})";
  for (int count : {1, 2, 3}) {
    Json params = Json::MakeArray();
    for (int i = 0; i < count; ++i) params.Append(*Json::Parse(huge));
    bool fits = count == 1;
    EXPECT_EQ(ParseLibraryMetadata(GoodMetadata().Set("params", params).Dump(), "l").ok(), fits);
  }
}

TEST(ParseLibraryMetadata, AnotherSchemaVersionAsksToCompileAgain) {
  for (int version : {1, 2, 4}) {
    Status status =
        ParseLibraryMetadata(GoodMetadata().Set("schema_version", version).Dump(), "l").status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_NE(status.message().find("compile the model again"), std::string::npos);
  }
}

TEST(CheckLibraryFitsModel, NamesTheFieldThatDiffers) {
  LibraryMetadata library = *ParseLibraryMetadata(GoodMetadata().Dump(), "l");
  EXPECT_TRUE(CheckLibraryFitsModel(library, *ParseChatConfig(GoodConfig().Dump(), "c")).ok());
  for (const Fault& fault : {Fault{"model_type", "\"qwen2\""}, Fault{"quantization", "\"q0f16\""},
                             Fault{"vocab_size", "49153"}}) {
    ChatConfig config = *ParseChatConfig(With(GoodConfig(), fault.key, fault.value).Dump(), "c");
    Status status = CheckLibraryFitsModel(library, config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.param(), "model_lib");
    EXPECT_NE(status.message().find(fault.key), std::string::npos) << status.message();
  }
}

// Both may have the same names and shapes: GPT-J's rows of the rotation have another order.
TEST(CheckLibraryFitsModel, FoldersOfTheOtherConverterAreRefusedWhereOrdersDiffer) {
  struct Case {
    const char *layout, *model_config;
    bool fits;
  };
  for (const Case& each :
       {Case{"absent", R"({"weight_layout": "joined"})", true}, Case{"absent", "{}", true},
        Case{"\"joined\"", R"({"weight_layout": "joined"})", true},
        Case{"\"joined\"", "absent", true}, Case{"\"joined\"", "{}", false},
        Case{"\"mlc\"", "{}", true}, Case{"\"mlc\"", R"({"weight_layout": "joined"})", false}}) {
    std::string metadata = With(GoodMetadata(), "folder_layout", each.layout).Dump();
    std::string config = With(GoodConfig(), "model_config", each.model_config).Dump();
    Status status =
        CheckLibraryFitsModel(*ParseLibraryMetadata(metadata, "l"), *ParseChatConfig(config, "c"));
    EXPECT_EQ(status.ok(), each.fits) << each.layout << each.model_config;
    if (each.fits) continue;
    EXPECT_EQ(status.param(), "model_lib");
    EXPECT_NE(status.message().find("the folder was made by"), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace mlc
