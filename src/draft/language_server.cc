// SPDX-License-Identifier: MIT
// The language server protocol, as much of it as Draft needs. Positions count UTF-16 units.
#include "draft/language_server.hh"

#include <charconv>
#include <cstring>

#include "draft/format.hh"
#include "draft/json_reader.hh"
#include "draft/tool.hh"
#include "draft/tree_search.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

constexpr std::size_t message_max = std::size_t{64} << 20;

/// The path of a file's URI.
std::string path_of(std::string_view uri) {
  if (uri.starts_with("file://")) uri.remove_prefix(7);
  std::string out;
  for (std::size_t i = 0; i != uri.size(); ++i) {
    unsigned byte = 0;
    if (uri[i] == '%' && i + 2 < uri.size() &&
        std::from_chars(uri.data() + i + 1, uri.data() + i + 3, byte, 16).ec == std::errc()) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += uri[i];
    }
  }
  return out;
}

std::string uri_of(std::string_view path) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out = "file://";
  for (const char c : path) {
    const auto u = static_cast<unsigned char>(c);
    if (u <= ' ' || u >= 0x7f || c == '%' || c == '#' || c == '?') {
      out += {'%', digits[u >> 4], digits[u & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

/// UTF-16 units of the UTF-8 sequence that begins at a byte: 2 for what is above U+FFFF.
std::uint32_t units_at(std::string_view text, std::size_t at) {
  return source::utf8_len(text, at) == 4 ? 2 : 1;
}

std::uint32_t offset_of(const source::source_file& file, const json& position) {
  const auto line = static_cast<std::uint32_t>(position["line"].number) + 1;
  if (line > file.line_count()) return file.size();
  auto left = static_cast<std::uint32_t>(position["character"].number);
  const std::string_view text = file.line_text(line);
  std::size_t at = 0;
  while (at < text.size() && left != 0) {
    const std::uint32_t units = units_at(text, at);
    left -= std::min(left, units);
    at += source::utf8_len(text, at);
  }
  return file.offset_of({line, 1}) + static_cast<std::uint32_t>(std::min(at, text.size()));
}

std::string position_text(const source::source_file& file, std::uint32_t offset) {
  const std::uint32_t line = file.line_of(offset);
  const std::uint32_t begin = file.offset_of({line, 1});
  const std::string_view text = file.line_text(line);
  std::uint32_t units = 0;
  for (std::size_t at = 0; at < text.size() && begin + at < offset;
       at += source::utf8_len(text, at))
    units += units_at(text, at);
  return "{\"line\":" + std::to_string(line - 1) + ",\"character\":" + std::to_string(units) + "}";
}

std::string range_text(span s) {
  return "{\"start\":" + position_text(*s.file, s.begin) +
         ",\"end\":" + position_text(*s.file, s.end) + "}";
}

std::string diagnostic_text(const source::diagnostic& d) {
  std::string message = d.message;
  for (const source::note& n : d.notes)
    message += "\n" +
               (n.at ? "line " + std::to_string(n.at.file->line_of(n.at.begin)) + ": " : "") +
               n.message;
  if (!d.hint.empty()) message += "\nhint: " + d.hint;
  return "{\"range\":" + range_text(d.at) +
         ",\"severity\":" + (d.level == source::severity::error ? "1" : "2") +
         ",\"code\":" + json_text(d.code) +
         ",\"source\":\"draft\",\"message\":" + json_text(message) + "}";
}

}  // namespace

std::vector<std::string> language_server::receive(std::string_view message) {
  const std::optional<json> m = read_json(message);
  if (!m) {
    return {
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
        "\"this is not JSON\"}}"};
  }
  const std::string& method = (*m)["method"].text;
  const json& params = (*m)["params"];
  const json& id = (*m)["id"];
  std::vector<std::string> out;
  if (id.kind == json::form::null) {
    if (method == "exit") ended_ = true;
    if (method == "textDocument/didOpen") open(params);
    if (method == "textDocument/didChange") change(params);
    const std::string& uri = params["textDocument"]["uri"].text;
    if (method == "textDocument/didOpen" || method == "textDocument/didChange")
      out.push_back(publish(uri));
    if (method == "textDocument/didClose") texts_.erase(path_of(uri));
    return out;
  }
  const std::string head =
      "{\"jsonrpc\":\"2.0\",\"id\":" + (id.kind == json::form::text ? json_text(id.text) : id.text);
  const std::string result = answer(method, params);
  out.push_back(result.empty() ? head + ",\"error\":{\"code\":-32601,\"message\":" +
                                     json_text("there is no method " + method) + "}}"
                               : head + ",\"result\":" + result + "}");
  return out;
}

std::string language_server::answer(std::string_view method, const json& params) {
  if (method == "initialize")
    return "{\"capabilities\":{\"textDocumentSync\":1,\"hoverProvider\":true,"
           "\"definitionProvider\":true,\"documentFormattingProvider\":true,"
           "\"inlayHintProvider\":true},\"serverInfo\":{\"name\":\"heddle draft\"}}";
  if (method == "shutdown") {
    shut_down_ = true;
    return "null";
  }
  if (method == "textDocument/hover") return hover(params);
  if (method == "textDocument/definition") return definition(params);
  if (method == "textDocument/formatting") return formatting(params);
  if (method == "textDocument/inlayHint") return wait_marks(params);
  return {};
}

void language_server::open(const json& params) {
  const json& document = params["textDocument"];
  texts_[path_of(document["uri"].text)] = document["text"].text;
}

void language_server::change(const json& params) {
  // The whole text comes with each change: textDocumentSync is 1.
  for (const json& c : params["contentChanges"].list)
    texts_[path_of(params["textDocument"]["uri"].text)] = c["text"].text;
}

compiled language_server::compile_document(const std::string& uri) const {
  compile_options how;
  how.front.read = [this](const std::string& path) -> std::expected<std::string, std::string> {
    if (const auto open = texts_.find(path); open != texts_.end()) return open->second;
    return source::read_text(path);
  };
  return compile(path_of(uri), stage::check, how);
}

std::string language_server::publish(const std::string& uri) const {
  const compiled made = compile_document(uri);
  const source::source_file* const file =
      made.made->main_module != nullptr ? made.made->main_module->file : nullptr;
  std::string list;
  for (const source::diagnostic& d : made.report.all())
    if (d.at && d.at.file == file) list += (list.empty() ? "" : ",") + diagnostic_text(d);
  return "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/"
         "publishDiagnostics\",\"params\":{\"uri\":" +
         json_text(uri) + ",\"diagnostics\":[" + list + "]}}";
}

std::string language_server::hover(const json& params) const {
  const compiled made = compile_document(params["textDocument"]["uri"].text);
  const module* const m = made.made->main_module;
  if (m == nullptr) return "null";
  const auto found = find_at(*m, offset_of(*m->file, params["position"]));
  if (!found) return "null";
  return "{\"contents\":{\"kind\":\"plaintext\",\"value\":" + json_text(found->description) +
         "},\"range\":" + range_text(found->at) + "}";
}

std::string language_server::definition(const json& params) const {
  const compiled made = compile_document(params["textDocument"]["uri"].text);
  const module* const m = made.made->main_module;
  if (m == nullptr) return "null";
  const auto found = find_at(*m, offset_of(*m->file, params["position"]));
  if (!found || !found->declared) return "null";
  return "{\"uri\":" + json_text(uri_of(found->declared.file->path())) +
         ",\"range\":" + range_text(found->declared) + "}";
}

std::string language_server::formatting(const json& params) const {
  const std::string path = path_of(params["textDocument"]["uri"].text);
  const auto open = texts_.find(path);
  if (open == texts_.end()) return "null";
  const source::source_file file(path, open->second);
  const std::string text = format(file);
  if (text == open->second) return "[]";
  return "[{\"range\":" + range_text({&file, 0, file.size()}) + ",\"newText\":" + json_text(text) +
         "}]";
}

std::string language_server::wait_marks(const json& params) const {
  const compiled made = compile_document(params["textDocument"]["uri"].text);
  const module* const m = made.made->main_module;
  if (m == nullptr) return "null";
  std::string list;
  for (const auto& f : m->functions) {
    walk(
        f->decl->body,
        [&](const expr& e) {
          if (!e.waits || !e.at) return;
          list += std::string(list.empty() ? "" : ",") +
                  "{\"position\":" + position_text(*e.at.file, e.at.end) +
                  ",\"label\":\"waits\",\"paddingLeft\":true}";
        },
        [](const stmt&) {});
  }
  return "[" + list + "]";
}

int serve_editor(std::FILE* in, std::FILE* out) {
  language_server server;
  char line[256];
  while (!server.ended()) {
    // The head: lines of NAME: VALUE up to an empty one.
    std::size_t size = 0;
    for (;;) {
      if (std::fgets(line, sizeof line, in) == nullptr) return server.exit_code();
      if (line[0] == '\r' || line[0] == '\n') break;
      constexpr std::string_view name = "Content-Length: ";
      const std::string_view text = line;
      if (text.starts_with(name))
        std::from_chars(text.data() + name.size(), text.data() + text.size(), size);
    }
    if (size == 0 || size > message_max) return 1;
    std::string message(size, '\0');
    if (std::fread(message.data(), 1, size, in) != size) return 1;
    for (const std::string& m : server.receive(message))
      std::fprintf(out, "Content-Length: %zu\r\n\r\n%s", m.size(), m.c_str());
    std::fflush(out);
  }
  return server.exit_code();
}

}  // namespace heddle::draft
