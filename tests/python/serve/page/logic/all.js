// Runs every test file; `test_page_logic.py` reads what it prints.

import "./markdown_test.js";
import "./formulas_test.js";
import "./chats_test.js";
import "./answers_test.js";
import "./vectors_test.js";
import { outcomes } from "./harness.js";

export const found = await outcomes();
globalThis.Deno && console.log(JSON.stringify(found));
