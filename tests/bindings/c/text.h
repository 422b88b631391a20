/* What a C program needs of text and JSON: a growing buffer, and looking up a value by its path. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct {
  char* data; /* ends in a NUL; NULL while nothing was added */
  size_t size;
} Text;

void text_add(Text* text, const char* data, size_t size);
void text_format(Text* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a JSON string with its quotes; `data` NULL adds null. */
void text_add_quoted(Text* text, const char* data);
void text_free(Text* text);

/* The value at a path such as "choices/0/delta/content", or NULL. `json` must be valid. */
const char* json_at(const char* json, const char* path);
/* Adds the string that begins at `value`, without its quotes and escapes; nothing for NULL or for
 * what is no string. Returns whether it was one. */
int json_add_string(Text* text, const char* value);
/* The integer that begins at `value`; 0 for NULL. */
int64_t json_int(const char* value);
