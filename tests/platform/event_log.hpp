// The event log of a run, read by the tests' own, simplest means.
#ifndef TLMALLOC_TESTS_PLATFORM_EVENT_LOG_HPP
#define TLMALLOC_TESTS_PLATFORM_EVENT_LOG_HPP

#include "platform/run_report.hpp"

#include <map>
#include <sstream>

struct event_log {
    std::shared_ptr<json_t> header;
    std::vector<std::pair<std::string, std::shared_ptr<json_t>>> rows; // by kind, as objects of their columns

    explicit event_log(const std::string &text) {
        std::istringstream lines(text);
        std::string line;
        BOOST_REQUIRE(std::getline(lines, line));
        header = parse(line);
        while (std::getline(lines, line)) {
            const std::shared_ptr<json_t> row = parse(line);
            const std::string kind = json_string_value(json_array_get(row.get(), 0));
            const json_t *const columns = json_object_get(json_object_get(header.get(), "columns"), kind.c_str());
            BOOST_REQUIRE_MESSAGE(columns, "no columns of " << kind);
            BOOST_REQUIRE_EQUAL(json_array_size(columns) + 1, json_array_size(row.get()));
            json_t *const named = json_object();
            for (std::size_t i = 0; i < json_array_size(columns); i++)
                json_object_set(named, json_string_value(json_array_get(columns, i)), json_array_get(row.get(), i + 1));
            rows.emplace_back(kind, std::shared_ptr<json_t>(named, json_decref));
        }
    }

    std::vector<const json_t *> of(const std::string &kind) const {
        std::vector<const json_t *> found;
        for (const auto &[name, row] : rows)
            if (name == kind) found.push_back(row.get());
        return found;
    }

    std::string name(const char *list, std::int64_t index) const {
        const json_t *const text = json_array_get(json_object_get(header.get(), list), static_cast<std::size_t>(index));
        BOOST_REQUIRE_MESSAGE(text, "no " << index << " in " << list);
        return json_string_value(text);
    }

    static std::shared_ptr<json_t> parse(const std::string &line) {
        json_error_t error;
        const std::shared_ptr<json_t> value(json_loads(line.c_str(), 0, &error), json_decref);
        BOOST_REQUIRE_MESSAGE(value, error.text << ": " << line.substr(0, 200));
        return value;
    }
};

#endif
