// Cases of a JSON file of ../shared, read as YAML, of which JSON is a part.
#ifndef TLMALLOC_TESTS_GOLDEN_CASES_HPP
#define TLMALLOC_TESTS_GOLDEN_CASES_HPP

#include "shared_data.hpp"

#include <boost/test/unit_test.hpp>
#include <yaml.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace golden {

class value {
  public:
    value(yaml_document_t *document, yaml_node_t *node) : document_(document), node_(node) {}

    std::string text() const {
        BOOST_REQUIRE(node_->type == YAML_SCALAR_NODE);
        return reinterpret_cast<const char *>(node_->data.scalar.value);
    }
    std::uint64_t number() const { return std::strtoull(text().c_str(), nullptr, 10); }
    bool is_null() const { return node_->type == YAML_SCALAR_NODE && text() == "null"; }
    bool is_text() const { return node_->type == YAML_SCALAR_NODE; }
    bool is_true() const { return text() == "true"; }

    std::vector<value> items() const {
        BOOST_REQUIRE(node_->type == YAML_SEQUENCE_NODE);
        std::vector<value> all;
        for (auto *i = node_->data.sequence.items.start; i != node_->data.sequence.items.top; i++)
            all.emplace_back(document_, yaml_document_get_node(document_, *i));
        return all;
    }
    bool has(const std::string &key) const { return find(key) != nullptr; }
    value operator[](const std::string &key) const {
        BOOST_REQUIRE_MESSAGE(has(key), key << " is missing");
        return {document_, find(key)};
    }

  private:
    yaml_node_t *find(const std::string &key) const {
        BOOST_REQUIRE(node_->type == YAML_MAPPING_NODE);
        for (auto *p = node_->data.mapping.pairs.start; p != node_->data.mapping.pairs.top; p++)
            if (value(document_, yaml_document_get_node(document_, p->key)).text() == key)
                return yaml_document_get_node(document_, p->value);
        return nullptr;
    }

    yaml_document_t *document_;
    yaml_node_t *node_;
};

class file {
  public:
    explicit file(const std::string &name) {
        std::FILE *stream = std::fopen((shared_data + name).c_str(), "rb");
        BOOST_REQUIRE_MESSAGE(stream, name << " is missing");
        yaml_parser_t parser;
        yaml_parser_initialize(&parser);
        yaml_parser_set_input_file(&parser, stream);
        const bool loaded = yaml_parser_load(&parser, &document_);
        yaml_parser_delete(&parser);
        std::fclose(stream);
        BOOST_REQUIRE_MESSAGE(loaded, name << " cannot be read");
    }
    file(const file &) = delete;
    file &operator=(const file &) = delete;
    ~file() { yaml_document_delete(&document_); }

    std::vector<value> cases() {
        const std::vector<value> all = value(&document_, yaml_document_get_root_node(&document_))["cases"].items();
        BOOST_REQUIRE(!all.empty());
        return all;
    }

  private:
    yaml_document_t document_{};
};

} // namespace golden
#endif
