// Paths that are made when they are asked for, and what identifies a list of terms.
#include "grammar/schema/term.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

TEST(SchemaTerm, APathIsAJsonPointer) {
  Path document, list(document, "oneOf"), item(Path(list, "a/b~"), "");
  EXPECT_TRUE(document.empty());
  EXPECT_EQ(document.text(), "");
  EXPECT_EQ(item.text(), "/oneOf/a~1b~0/");
  EXPECT_EQ(list.text(), "/oneOf");
  EXPECT_EQ(Path(Path("/$defs/x"), "items").text(), "/$defs/x/items");
  EXPECT_TRUE(Path("").empty());
}

TEST(SchemaTerm, EqualListsInAnyOrderHaveOneKey) {
  Result<Json> schema = Json::Parse(R"({"oneOf": [{"type": "string"}, {"const": 1}]})");
  ASSERT_TRUE(schema.ok());
  Term whole = WholeTerm(*schema, Path());
  Term first = ItemTerm(whole, "oneOf", 0, false), second = ItemTerm(whole, "oneOf", 1, false);
  Term denied = ItemTerm(whole, "oneOf", 1, true);
  Term present = NamedTerm(whole, Term::kPresent, "a", Path());
  Term other = NamedTerm(whole, Term::kPresent, "b", Path());
  EXPECT_EQ(SetKeyOf({first, second, present}), SetKeyOf({present, second, first, second}));
  EXPECT_NE(SetKeyOf({first, second}), SetKeyOf({first, denied}));
  EXPECT_NE(SetKeyOf({present}), SetKeyOf({other}));
  EXPECT_NE(SetKeyOf({first}), SetKeyOf({first, second}));
}

}  // namespace
}  // namespace mlc
