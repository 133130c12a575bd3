// `tlmalloc run` and its report, for tests.
#ifndef TLMALLOC_TESTS_PLATFORM_RUN_REPORT_HPP
#define TLMALLOC_TESTS_PLATFORM_RUN_REPORT_HPP

#include "platform/command_line.hpp"

#include <jansson.h>
#include <memory>

struct report {
    command_result run;
    std::shared_ptr<json_t> json;

    std::int64_t number(const char *key) const { return json_integer_value(json_object_get(json.get(), key)); }
    json_t *list(const char *key) const { return json_object_get(json.get(), key); }

    std::int64_t sum(const char *of, const char *key) const {
        std::int64_t total = 0;
        std::size_t i = 0;
        json_t *row = nullptr;
        json_array_foreach(list(of), i, row) total += json_integer_value(json_object_get(row, key));
        return total;
    }
};

inline std::int64_t number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    BOOST_REQUIRE_MESSAGE(json_is_integer(value), key << " is no number");
    return json_integer_value(value);
}

// A text of an object; "" where it has none.
inline std::string text_of(const json_t *object, const char *key) {
    const char *const text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

inline report run(const std::string &config, std::vector<std::string> arguments) {
    scratch_directory scratch;
    arguments.insert(arguments.begin(), {"run", config, "--json", scratch.path("report.json")});
    report result{run_tlmalloc(arguments), nullptr};
    json_error_t error;
    result.json.reset(json_load_file(scratch.path("report.json").c_str(), 0, &error), json_decref);
    BOOST_REQUIRE_MESSAGE(result.json, error.text << "; " << result.run.err);
    return result;
}

inline std::vector<std::string> with_prices(const std::vector<std::string> &prices) {
    std::vector<std::string> arguments;
    for (const std::string &price : prices) {
        arguments.push_back("--set");
        arguments.push_back(price);
    }
    return arguments;
}

// The file of a kernel that never ends by itself.
inline std::string write_silent_kernel(const scratch_directory &scratch) {
    return scratch.write("silent.c", R"(/* Everybody receives, and nobody sends. */
#include "tlmalloc/kernel.h"
static tla_status run(tl_context *tl) {
    tl_tile tile = {.rows = 1, .columns = 64, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    uint32_t all = tl_num_programs(tl, TL_ALL), from = (tl_program_id(tl, TL_ALL) + 1) % all;
    return status ? status : tl_free_tiles(tl, &tile, 1, tl_recv(tl, from, &tile));
}
TL_KERNEL(.name = "silent", .description = "a deadlock", .run = run,
          .tensors = {{.name = "source", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(64)}}},
          .arguments = {TL_ADDRESS_OF(0)});
)");
}

#endif
