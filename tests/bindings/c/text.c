#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(Text* text, const char* data, size_t size) {
  char* grown = realloc(text->data, text->size + size + 1);
  if (grown == NULL) abort();
  text->data = grown;
  memcpy(text->data + text->size, data, size);
  text->size += size;
  text->data[text->size] = '\0';
}

void text_format(Text* text, const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (size < 0 || (size_t)size >= sizeof line) abort();
  text_add(text, line, (size_t)size);
}

void text_add_quoted(Text* text, const char* data) {
  if (data == NULL) {
    text_add(text, "null", 4);
    return;
  }
  text_add(text, "\"", 1);
  for (; *data != '\0'; ++data) {
    if (*data == '"' || *data == '\\') {
      text_format(text, "\\%c", *data);
    } else if ((unsigned char)*data < 0x20) {
      text_format(text, "\\u%04x", *data);
    } else {
      text_add(text, data, 1);
    }
  }
  text_add(text, "\"", 1);
}

void text_free(Text* text) {
  free(text->data);
  *text = (Text){NULL, 0};
}

static const char* skip_space(const char* at) { return at + strspn(at, " \t\r\n"); }

static const char* skip_string(const char* at) {
  for (++at; *at != '"'; ++at) {
    if (*at == '\\') ++at;
  }
  return at + 1;
}

static const char* skip_value(const char* at) {
  int depth = 0;
  do {
    at = skip_space(at);
    if (*at == '"') {
      at = skip_string(at);
    } else if (*at == '{' || *at == '[') {
      ++depth, ++at;
    } else if (*at == '}' || *at == ']') {
      --depth, ++at;
    } else if (*at == ',' || *at == ':') {
      ++at;
    } else {
      at += strcspn(at, ",:{}[] \t\r\n");
    }
  } while (depth > 0);
  return skip_space(at);
}

/* The member of an object or the item of an array that `step` names. */
static const char* step_into(const char* json, const char* step, size_t size) {
  char open = *json, close = open == '{' ? '}' : ']';
  long index = open == '[' ? strtol(step, NULL, 10) : -1;
  if (open != '{' && open != '[') return NULL;
  json = skip_space(json + 1);
  for (long i = 0; *json != close; ++i) {
    int found = i == index;
    if (open == '{') {
      const char* end = skip_string(json);
      found = (size_t)(end - json) == size + 2 && strncmp(json + 1, step, size) == 0;
      json = skip_space(skip_space(end) + 1);
    }
    if (found) return json;
    json = skip_value(json);
    if (*json == ',') json = skip_space(json + 1);
  }
  return NULL;
}

const char* json_at(const char* json, const char* path) {
  json = skip_space(json);
  while (json != NULL && *path != '\0') {
    size_t size = strcspn(path, "/");
    json = step_into(json, path, size);
    path += size + (path[size] == '/');
  }
  return json;
}

static unsigned hex4(const char* digits) {
  char text[5] = {0};
  memcpy(text, digits, 4);
  return (unsigned)strtoul(text, NULL, 16);
}

static void add_utf8(Text* text, unsigned code) {
  char bytes[4];
  size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = size; i-- > 1; code >>= 6) bytes[i] = (char)(0x80 | (code & 0x3F));
  bytes[0] = (char)(size == 1 ? code : (0xF0u << (4 - size)) | code);
  text_add(text, bytes, size);
}

/* Adds the character of an escape; returns what is behind it. */
static const char* add_escaped(Text* text, const char* at) {
  static const char kEscapes[] = "b\bf\fn\nr\rt\t";
  if (*at == 'u') {
    unsigned code = hex4(at + 1);
    at += 5;
    if (code >= 0xD800 && code < 0xDC00 && at[0] == '\\' && at[1] == 'u') {
      code = 0x10000 + ((code - 0xD800) << 10) + (hex4(at + 2) - 0xDC00);
      at += 6;
    }
    add_utf8(text, code);
    return at;
  }
  for (const char* pair = kEscapes; *pair != '\0'; pair += 2) {
    if (*at == *pair) return text_add(text, pair + 1, 1), at + 1;
  }
  return text_add(text, at, 1), at + 1;
}

int json_add_string(Text* text, const char* value) {
  if (value == NULL || *value != '"') return 0;
  for (++value; *value != '"';) {
    size_t plain = strcspn(value, "\"\\");
    text_add(text, value, plain);
    value += plain;
    if (*value == '\\') value = add_escaped(text, value + 1);
  }
  return 1;
}

int64_t json_int(const char* value) { return value == NULL ? 0 : strtoll(value, NULL, 10); }
