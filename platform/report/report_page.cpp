// Puts pages together: styles, the frame, the library with its licence, data, scripts.
#include "report/report_page.hpp"

#include "cli/installed.hpp"
#include "cli/json_writer.h"
#include "cli/read_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>

namespace tlmalloc {

namespace {

// In the order in which they need each other (platform/report/README.md).
const char *const scripts[] = {"text.js",         "colours.js",  "data.js",      "event_columns.js", "canvas.js",
                               "time_axis.js",    "summary.js",  "intervals.js", "kernels.js",       "blocks.js",
                               "address_axis.js", "memory.js",   "free_list.js", "mapping.js",       "platform.js",
                               "histogram.js",    "tables.js",   "figures.js",   "failures.js",      "differences.js",
                               "settings.js",     "keyboard.js", "main.js"};

constexpr std::size_t part_bytes_max = std::size_t{8} << 20;

tla_status read_part(const std::string &path, std::string *text, tla_error *error) {
    char *read = nullptr;
    std::size_t length = 0;
    const tla_status status = ::read_text(path.c_str(), part_bytes_max, &read, &length, error);
    if (!status) text->assign(read, length);
    std::free(read);
    return status;
}

tla_status read_ours(const std::string &name, std::string *text, tla_error *error) {
    return read_part(installed(std::filesystem::path(TLMALLOC_DATA) / "report" / name), text, error);
}

// The library's own text may hold what ends an element; in JavaScript the backslash changes nothing.
std::string inside_a_script(std::string text) {
    for (const char *const end : {"</script", "<!--"})
        for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end, at + 2))
            text.insert(at + 1, 1, '\\');
    return text;
}

std::string as_text(const std::string &text) {
    std::string escaped;
    for (const char c : text)
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        default:
            escaped += c;
        }
    return escaped;
}

tla_status read_d3(const d3_files &d3, std::string *script, std::string *licence, tla_error *error) {
    tla_error why{};
    for (const auto &[path, text] : {std::pair{&d3.script, script}, std::pair{&d3.licence, licence}})
        if (const tla_status status = read_part(*path, text, &why))
            return tla_error_set(
                error, status, "%.300s: install Debian's package libjs-d3, or name its folder with --d3 DIR", why.text);
    if (script->substr(0, 500).find("version:\"3.5.") == std::string::npos &&
        script->substr(0, 500).find("version: \"3.5.") == std::string::npos)
        return tla_error_set(error, TLA_SYNTAX, "%.200s: not d3 version 3.5: install Debian's package libjs-d3",
                             d3.script.c_str());
    return TLA_OK;
}

} // namespace

void add_data_element(std::string &page, const std::string &id, const json_t *data) {
    const std::unique_ptr<char, decltype(&std::free)> text(json_compact_text(data), &std::free);
    if (!text) throw std::bad_alloc();
    page += "<script type=\"application/json\" id=\"" + id + "\">";
    for (const char *at = text.get(); *at; at++)
        if (*at == '<') // only within texts
            page += "\\u003c";
        else
            page += *at;
    page += "</script>\n";
}

void add_bytes_element(std::string &page, const std::string &id, const std::string &bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    page += "<script type=\"text/plain\" id=\"" + id + "\">";
    page.reserve(page.size() + bytes.size() / 3 * 4 + 32);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t there = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; j++)
            group = group << 8 | (j < there ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; j++)
            page += j <= there ? digits[group >> (18 - 6 * j) & 63] : '=';
    }
    page += "</script>\n";
}

tla_status make_page(const d3_files &d3, const std::string &data, std::string *page, tla_error *error) {
    std::string style, frame, library, licence;
    tla_status status = read_ours("page.css", &style, error);
    if (!status) status = read_ours("frame.html", &frame, error);
    if (!status) status = read_d3(d3, &library, &licence, error);
    if (status) return status;
    // The page loads nothing; the policy in its head makes browsers enforce this.
    *page = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
            "style-src 'unsafe-inline'; img-src data:\">\n"
            "<link rel=\"icon\" href=\"data:,\">\n<title>tlmalloc</title>\n<style>\n" +
            style + "</style>\n</head>\n<body>\n" + frame +
            "<details id=\"licences\"><summary>Licence of d3, which is part of this page</summary><pre>" +
            as_text(licence) + "</pre></details>\n" + data;
    *page += "<script>" + inside_a_script(library) + "</script>\n";
    for (const char *const name : scripts) {
        std::string script;
        if ((status = read_ours(name, &script, error))) return status;
        *page += "<script>\n" + script + "</script>\n";
    }
    *page += "</body>\n</html>\n";
    return TLA_OK;
}

} // namespace tlmalloc
