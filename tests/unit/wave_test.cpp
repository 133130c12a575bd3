// The VCD recorder: what it writes is read by a small VCD parser and compared with a sorted list of the changes.
#include "tlmalloc/wave.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using std::string;

namespace {

// A file of this test's process, removed at the end.
struct temporary_file {
    string path = string(TLMALLOC_BINARY_DIR) + "/wave_test." + std::to_string(getpid()) + ".vcd";
    ~temporary_file() { std::remove(path.c_str()); }

    string text() const {
        std::ifstream file(path, std::ios::binary);
        BOOST_REQUIRE(file);
        return {std::istreambuf_iterator<char>(file), {}};
    }
};

tla_wave *open_wave(const string &path) {
    tla_wave *wave = nullptr;
    tla_error error;
    BOOST_REQUIRE_MESSAGE(tla_wave_open(path.c_str(), &wave, &error) == TLA_OK, error.text);
    return wave;
}

tla_wave_signal declare(tla_wave *wave, const string &scope, const string &name, uint32_t bits) {
    tla_wave_signal signal = 0;
    BOOST_REQUIRE_EQUAL(tla_wave_declare(wave, scope.c_str(), name.c_str(), bits, &signal, nullptr), TLA_OK);
    return signal;
}

// What a VCD says: per signal ("scope.name") its width and its values by time; checks the grammar on the way.
struct vcd {
    struct signal {
        uint32_t bits = 0;
        std::vector<std::pair<uint64_t, uint64_t>> values; // (time, value), as written; the first from $dumpvars
    };
    std::map<string, signal> signals;
    uint64_t end = 0;

    explicit vcd(const string &text) {
        std::istringstream in(text);
        std::map<string, string> names; // identifier -> name
        std::vector<string> scopes;
        std::set<string> seen_scopes;
        string word;
        expect(in, {"$timescale", "1", "ps", "$end"});
        while (in >> word && word != "$enddefinitions") {
            if (word == "$scope") {
                string name;
                expect(in, {"module"});
                in >> name;
                expect(in, {"$end"});
                scopes.push_back((scopes.empty() ? "" : scopes.back() + ".") + name);
                BOOST_CHECK_MESSAGE(seen_scopes.insert(scopes.back()).second, "scope twice: " << scopes.back());
            } else if (word == "$upscope") {
                expect(in, {"$end"});
                BOOST_REQUIRE(!scopes.empty());
                scopes.pop_back();
            } else {
                BOOST_REQUIRE_EQUAL(word, "$var");
                BOOST_REQUIRE(!scopes.empty());
                signal s;
                string identifier, name;
                expect(in, {"wire"});
                in >> s.bits >> identifier >> name;
                if (s.bits > 1) expect(in, {"[" + std::to_string(s.bits - 1) + ":0]"});
                expect(in, {"$end"});
                for (char c : identifier)
                    BOOST_CHECK(c >= '!' && c <= '~');
                BOOST_CHECK(names.emplace(identifier, scopes.back() + "." + name).second);
                BOOST_CHECK(signals.emplace(scopes.back() + "." + name, s).second);
            }
        }
        BOOST_CHECK(scopes.empty());
        expect(in, {"$end", "#0", "$dumpvars"});
        bool dumping = true;
        while (in >> word) {
            if (word[0] == '#') {
                BOOST_CHECK(!dumping);
                uint64_t time = std::stoull(word.substr(1));
                BOOST_REQUIRE_MESSAGE(time > end, word << " after #" << end);
                end = time;
            } else if (word == "$end") {
                BOOST_CHECK(dumping);
                dumping = false;
                for (const auto &[name, s] : signals)
                    BOOST_CHECK_EQUAL(s.values.size(), 1u);
            } else {
                uint64_t value;
                string identifier;
                if (word[0] == 'b') {
                    BOOST_CHECK(word == "b0" || word[1] == '1'); // no leading zeros
                    value = std::stoull(word.substr(1), nullptr, 2);
                    in >> identifier;
                } else {
                    BOOST_REQUIRE(word[0] == '0' || word[0] == '1');
                    value = word[0] == '1';
                    identifier = word.substr(1);
                }
                BOOST_REQUIRE_MESSAGE(names.count(identifier), identifier);
                signal &s = signals[names[identifier]];
                BOOST_CHECK(s.bits == 64 || value < UINT64_C(1) << s.bits);
                BOOST_CHECK_EQUAL(word[0] == 'b', s.bits > 1);
                if (!dumping) BOOST_CHECK_MESSAGE(value != s.values.back().second, "no change at " << end);
                if (!dumping && end > 0) BOOST_CHECK(s.values.back().first < end); // one value a time stamp
                s.values.emplace_back(end, value);
            }
        }
        BOOST_CHECK(!dumping);
    }

    static void expect(std::istream &in, const std::vector<string> &words) {
        for (const string &expected : words) {
            string word;
            in >> word;
            BOOST_REQUIRE_EQUAL(word, expected);
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_small_run_is_written_byte_by_byte) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal busy = declare(wave, "sip0.pe1", "busy", 1);
    tla_wave_signal used = declare(wave, "sip0.pe0.mmu", "used", 16);
    tla_wave_signal depth = declare(wave, "sip0.pe1", "depth", 4);
    tla_wave_set(wave, busy, 20, 1);
    tla_wave_set(wave, used, 10, 5);
    tla_wave_add(wave, depth, 20, 2);
    tla_wave_add(wave, depth, 10, 1);
    tla_wave_set(wave, busy, 30, 0);
    BOOST_CHECK_EQUAL(tla_wave_close(wave, 100), TLA_OK);
    BOOST_CHECK_EQUAL(file.text(), "$timescale 1 ps $end\n"
                                   "$scope module sip0 $end\n"
                                   "$scope module pe1 $end\n"
                                   "$var wire 1 ! busy $end\n"
                                   "$var wire 4 # depth [3:0] $end\n"
                                   "$upscope $end\n"
                                   "$scope module pe0 $end\n"
                                   "$scope module mmu $end\n"
                                   "$var wire 16 \" used [15:0] $end\n"
                                   "$upscope $end\n"
                                   "$upscope $end\n"
                                   "$upscope $end\n"
                                   "$enddefinitions $end\n"
                                   "#0\n$dumpvars\n0!\nb0 \"\nb0 #\n$end\n"
                                   "#10\nb101 \"\nb1 #\n"
                                   "#20\n1!\nb11 #\n"
                                   "#30\n0!\n"
                                   "#100\n");
}

BOOST_AUTO_TEST_CASE(a_signal_starts_with_the_value_that_it_was_given) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    const tla_wave_signal level = declare(wave, "top", "level", 8), sum = declare(wave, "top", "sum", 8);
    BOOST_CHECK_EQUAL(tla_wave_start(wave, level, 7), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_start(wave, level, 9), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_start(wave, sum, 255), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_start(wave, sum, 256), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_start(wave, sum + 1, 0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_start(wave, TLA_WAVE_HIDDEN, 1), TLA_OK);
    tla_wave_set(wave, level, 0, 9); // no change
    BOOST_CHECK_EQUAL(tla_wave_start(wave, level, 1), TLA_INVALID_ARGUMENT);
    tla_wave_add(wave, sum, 10, 2);
    tla_wave_close(wave, 10);
    vcd read(file.text());
    const std::vector<std::pair<uint64_t, uint64_t>> levels{{0, 9}}, sums{{0, 255}, {10, 1}};
    BOOST_CHECK(read.signals["top.level"].values == levels);
    BOOST_CHECK(read.signals["top.sum"].values == sums);
}

BOOST_AUTO_TEST_CASE(an_empty_run_is_a_vcd_too) {
    temporary_file file;
    BOOST_CHECK_EQUAL(tla_wave_close(open_wave(file.path), 0), TLA_OK);
    BOOST_CHECK_EQUAL(file.text(), "$timescale 1 ps $end\n$enddefinitions $end\n#0\n$dumpvars\n$end\n");
    BOOST_CHECK_EQUAL(tla_wave_close(open_wave(file.path), 7), TLA_OK);
    BOOST_CHECK_EQUAL(vcd(file.text()).end, 7u);
    BOOST_CHECK_EQUAL(tla_wave_close(nullptr, 0), TLA_OK);
}

BOOST_AUTO_TEST_CASE(the_last_of_several_changes_at_one_time_wins) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "top", "s", 8);
    for (uint64_t value : {7u, 9u, 3u})
        tla_wave_set(wave, s, 50, value);
    for (uint64_t value : {1u, 3u})
        tla_wave_set(wave, s, 60, value); // 3 is what it was: nothing to write
    tla_wave_set(wave, s, 0, 4);
    tla_wave_close(wave, 60);
    vcd read(file.text());
    const std::vector<std::pair<uint64_t, uint64_t>> expected{{0, 0}, {0, 4}, {50, 3}};
    BOOST_CHECK(read.signals["top.s"].values == expected);
    BOOST_CHECK_EQUAL(read.end, 60u);
}

BOOST_AUTO_TEST_CASE(deltas_add_up_in_the_order_of_time) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "top", "depth", 3);
    tla_wave_add(wave, s, 30, -1);
    tla_wave_add(wave, s, 40, -2);
    tla_wave_add(wave, s, 20, 2);
    tla_wave_add(wave, s, 10, 1);
    tla_wave_add(wave, s, 25, 1);
    tla_wave_add(wave, s, 25, -1);
    tla_wave_add(wave, s, 50, -1); // modulo 2^3
    tla_wave_close(wave, 50);
    const std::vector<std::pair<uint64_t, uint64_t>> expected{{0, 0}, {10, 1}, {20, 3}, {30, 2}, {40, 0}, {50, 7}};
    BOOST_CHECK(vcd(file.text()).signals["top.depth"].values == expected);
}

BOOST_AUTO_TEST_CASE(a_change_before_the_current_time_is_rejected) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "top", "s", 8);
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 100, 1), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_advance(wave, 100), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 99, 2), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 100, 3), TLA_OK); // not passed yet
    BOOST_CHECK_EQUAL(tla_wave_advance(wave, 50), TLA_OK);    // says nothing new
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 99, 2), TLA_INVALID_ARGUMENT);
    tla_wave_close(wave, 200);
    const std::vector<std::pair<uint64_t, uint64_t>> expected{{0, 0}, {100, 3}};
    BOOST_CHECK(vcd(file.text()).signals["top.s"].values == expected);
}

BOOST_AUTO_TEST_CASE(changes_after_the_end_are_written_and_time_never_goes_back) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "top", "s", 64);
    tla_wave_set(wave, s, 300, UINT64_MAX);
    tla_wave_close(wave, 200);
    vcd read(file.text());
    BOOST_CHECK_EQUAL(read.end, 300u);
    BOOST_CHECK_EQUAL(read.signals["top.s"].values.back().second, UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_rejected_declaration_reports_the_cause) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "a.b", "s", 4), other = 77;
    const auto why = [&](const char *scope, const char *name, uint32_t bits) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_wave_declare(wave, scope, name, bits, &other, &error), TLA_INVALID_ARGUMENT);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(why("a.b", "s", 1), "a.b already has a signal s");
    BOOST_CHECK_EQUAL(why("a.b", "t", 65), "a.b.t of 65 bits: must be 1 to 64");
    BOOST_CHECK_EQUAL(why("a.b", "a-b", 1), "signal 'a-b' of a.b: must be a name of letters, digits and _");
    BOOST_CHECK_EQUAL(why("a b", "t", 1), "scope 'a b': must be names of letters, digits and _ with dots in between");
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 10, 15), TLA_OK);
    BOOST_CHECK_EQUAL(why("a", "late", 1), "a.late must be declared before the first change");
    tla_wave_close(wave, 10);
}

BOOST_AUTO_TEST_CASE(invalid_declarations_and_changes_are_rejected) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "a.b", "s", 4), other = 77;
    BOOST_CHECK_EQUAL(tla_wave_declare(wave, "a.b", "s", 1, &other, nullptr), TLA_INVALID_ARGUMENT);
    for (uint32_t bits : {0u, 65u})
        BOOST_CHECK_EQUAL(tla_wave_declare(wave, "a", "t", bits, &other, nullptr), TLA_INVALID_ARGUMENT);
    for (const char *name : {"", "a b", "a.b", "x$end", "\xc3\xa9"})
        BOOST_CHECK_EQUAL(tla_wave_declare(wave, "a", name, 1, &other, nullptr), TLA_INVALID_ARGUMENT);
    for (const char *scope : {"", ".", "a.", ".a", "a..b", "a b", "b.c d"})
        BOOST_CHECK_EQUAL(tla_wave_declare(wave, scope, "t", 1, &other, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(other, 77u);
    declare(wave, "a", "b", 1); // a signal may have the name of a scope
    declare(wave, "a.bb", "s", 1);
    declare(wave, "a", "s", 1);
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s + 4, 0, 0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_add(wave, s + 4, 0, 0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 0, 16), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_set(wave, s, 10, 15), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_add(wave, s, 10, 1), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_wave_declare(wave, "a", "late", 1, &other, nullptr), TLA_INVALID_ARGUMENT);
    tla_wave_close(wave, 10);
    vcd read(file.text());
    BOOST_CHECK_EQUAL(read.signals.size(), 4u); // nothing of what was refused
    BOOST_CHECK_EQUAL(read.signals["a.b.s"].values.back().second, 15u);
}

BOOST_AUTO_TEST_CASE(ten_thousand_signals_have_ten_thousand_short_identifiers) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    std::vector<tla_wave_signal> signals;
    for (int i = 0; i < 10000; i++)
        signals.push_back(
            declare(wave, "sip" + std::to_string(i % 3) + ".pe" + std::to_string(i % 100), "s" + std::to_string(i), 8));
    for (size_t i = 0; i < signals.size(); i++)
        tla_wave_set(wave, signals[i], 1, i % 255 + 1);
    tla_wave_close(wave, 1);
    string text = file.text();
    vcd read(text); // refuses an identifier that stands twice
    BOOST_CHECK_EQUAL(read.signals.size(), 10000u);
    BOOST_CHECK_EQUAL(read.signals["sip0.pe99.s9999"].values.back().second, 9999u % 255 + 1);
    BOOST_CHECK(text.find("$var wire 8 ! s0 ") != string::npos);
    BOOST_CHECK(text.find("$var wire 8 ~ s93 ") != string::npos);
    BOOST_CHECK(text.find("$var wire 8 !! s94 ") != string::npos);
    BOOST_CHECK(text.find("$var wire 8 ~~ s8929 ") != string::npos); // 94 + 94 * 94 names of one or two characters
}

BOOST_AUTO_TEST_CASE(random_changes_are_written_as_a_sorted_list_of_them_says) {
    const unsigned seed = 4711;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 60; round++) {
        temporary_file file;
        string first_text;
        const uint64_t round_seed = random();
        for (int run = 0; run < 2; run++) {
            std::mt19937_64 r(round_seed);
            tla_wave *wave = open_wave(file.path);
            struct reference {
                string name;
                uint32_t bits;
                bool adds;
                std::vector<std::pair<uint64_t, uint64_t>> changes; // in the order of the calls
            };
            std::vector<reference> signals;
            for (size_t i = 0; i < 1 + round_seed % 20; i++) {
                string scope = "top.m" + std::to_string(r() % 4), name = "s" + std::to_string(i);
                uint32_t bits = r() % 3 ? 1 + static_cast<uint32_t>(r() % 64) : 1;
                BOOST_REQUIRE_EQUAL(declare(wave, scope, name, bits), i);
                signals.push_back({scope + "." + name, bits, r() % 2 == 0, {}});
            }
            uint64_t now = 0, last = 0;
            for (int step = 0; step < 600; step++) {
                if (r() % 8 == 0) {
                    now += r() % 100;
                    BOOST_REQUIRE_EQUAL(tla_wave_advance(wave, now), TLA_OK);
                    continue;
                }
                size_t i = r() % signals.size();
                reference &s = signals[i];
                uint64_t at = now + (r() % 2 ? r() % 300 : r() % 6 * 50); // some times are frequent
                uint64_t mask = s.bits == 64 ? UINT64_MAX : (UINT64_C(1) << s.bits) - 1;
                uint64_t value = s.adds ? r() % 7 - 3 : (r() % 2 ? r() : r() % 3) & mask;
                tla_status status = s.adds
                                        ? tla_wave_add(wave, static_cast<uint32_t>(i), at, static_cast<int64_t>(value))
                                        : tla_wave_set(wave, static_cast<uint32_t>(i), at, value);
                BOOST_REQUIRE_EQUAL(status, TLA_OK);
                s.changes.emplace_back(at, value);
                last = std::max(last, at);
            }
            uint64_t end = now + r() % 500;
            BOOST_REQUIRE_EQUAL(tla_wave_close(wave, end), TLA_OK);
            string text = file.text();
            if (run == 0) first_text = text;
            BOOST_CHECK(text == first_text); // the same run, the same bytes
            vcd read(text);
            BOOST_REQUIRE_EQUAL(read.signals.size(), signals.size());
            uint64_t last_change = 0;
            for (reference &s : signals) {
                uint64_t mask = s.bits == 64 ? UINT64_MAX : (UINT64_C(1) << s.bits) - 1, value = 0;
                std::stable_sort(s.changes.begin(), s.changes.end(),
                                 [](const auto &a, const auto &b) { return a.first < b.first; });
                std::vector<std::pair<uint64_t, uint64_t>> expected{{0, 0}};
                for (size_t i = 0; i < s.changes.size(); i++) {
                    value = s.adds ? (value + s.changes[i].second) & mask : s.changes[i].second;
                    bool more = i + 1 < s.changes.size() && s.changes[i + 1].first == s.changes[i].first;
                    if (more || value == expected.back().second) continue;
                    expected.emplace_back(s.changes[i].first, value);
                    last_change = std::max(last_change, s.changes[i].first);
                }
                BOOST_REQUIRE_MESSAGE(read.signals[s.name].values == expected, "seed " << round_seed << " " << s.name);
            }
            BOOST_CHECK_EQUAL(read.end, std::max(end, last_change));
        }
    }
}

// What has been passed is on its way to the file, whatever is still to come.
// The same changes with some signals selected: what the whole recording says of these, and nothing of the others.
BOOST_AUTO_TEST_CASE(selected_signals_are_recorded_as_in_a_whole_recording) {
    struct {
        std::vector<string> patterns;
        std::set<string> expected;
    } const cases[] = {
        {{"a"}, {"a.x", "a.y", "a.b.x"}},
        {{"a.b", "c.y"}, {"a.b.x", "c.y"}},
        {{"*.x"}, {"a.x", "a.b.x", "c.x", "ab.x"}},
        {{"a.?", "[bc]"}, {"a.x", "a.y", "a.b.x", "c.x", "c.y"}}, // a.b is a scope
        {{"nothing"}, {}},
    };
    const std::pair<string, string> all[] = {{"a", "x"}, {"a", "y"}, {"a.b", "x"}, {"c", "x"}, {"c", "y"}, {"ab", "x"}};
    const auto recorded = [&](const std::vector<string> &patterns) {
        temporary_file file;
        tla_wave *wave = open_wave(file.path);
        for (const string &pattern : patterns)
            BOOST_REQUIRE_EQUAL(tla_wave_select(wave, pattern.c_str(), nullptr), TLA_OK);
        std::vector<tla_wave_signal> signals;
        for (const auto &[scope, name] : all)
            signals.push_back(declare(wave, scope, name, 8));
        for (uint64_t at = 0; at < 100; at++)
            for (std::size_t i = 0; i < signals.size(); i++)
                BOOST_REQUIRE_EQUAL(i % 2 ? tla_wave_add(wave, signals[i], at, static_cast<int64_t>(i))
                                          : tla_wave_set(wave, signals[i], at, (at * (i + 1)) % 200),
                                    TLA_OK);
        BOOST_CHECK_EQUAL(tla_wave_close(wave, 100), TLA_OK);
        return vcd(file.text());
    };
    const vcd whole = recorded({});
    for (const auto &c : cases) {
        const vcd part = recorded(c.patterns);
        BOOST_CHECK_EQUAL(part.signals.size(), c.expected.size());
        BOOST_CHECK_EQUAL(part.end, whole.end);
        for (const string &name : c.expected) {
            BOOST_REQUIRE_MESSAGE(part.signals.count(name), c.patterns[0] << " lacks " << name);
            BOOST_CHECK(part.signals.at(name).values == whole.signals.at(name).values);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_pattern_without_a_match_is_known_and_a_late_pattern_is_rejected) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_error error;
    BOOST_CHECK_EQUAL(tla_wave_select(wave, "", &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, string("empty pattern: must name scopes or signals"));
    BOOST_CHECK(!tla_wave_unmatched(wave));
    for (const char *pattern : {"a", "mistyped", "*.y"})
        BOOST_CHECK_EQUAL(tla_wave_select(wave, pattern, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_wave_unmatched(wave), string("a"));
    BOOST_CHECK(declare(wave, "b", "x", 1) == TLA_WAVE_HIDDEN);
    BOOST_CHECK(declare(wave, "a", "y", 1) != TLA_WAVE_HIDDEN);
    BOOST_CHECK_EQUAL(tla_wave_unmatched(wave), string("mistyped"));
    BOOST_CHECK_EQUAL(tla_wave_select(wave, "b", &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, string("'b' must be selected before the first declaration"));
    BOOST_CHECK_EQUAL(tla_wave_close(wave, 0), TLA_OK);
}

BOOST_AUTO_TEST_CASE(changes_that_are_passed_are_written_before_the_end) {
    temporary_file file;
    tla_wave *wave = open_wave(file.path);
    tla_wave_signal s = declare(wave, "top", "s", 32);
    for (uint64_t at = 0; at < 200000; at++) {
        tla_wave_set(wave, s, at, at);
        tla_wave_advance(wave, at);
    }
    BOOST_CHECK_GT(file.text().size(), 1u << 20);
    tla_wave_close(wave, 0);
    BOOST_CHECK_EQUAL(vcd(file.text()).signals["top.s"].values.size(), 200000u);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_an_error) {
    tla_wave *wave = reinterpret_cast<tla_wave *>(1);
    tla_error error;
    string path = string(TLMALLOC_BINARY_DIR) + "/no_such_directory/x.vcd";
    BOOST_CHECK_EQUAL(tla_wave_open(path.c_str(), &wave, &error), TLA_IO);
    BOOST_CHECK(wave == nullptr);
    BOOST_CHECK_EQUAL(error.text, path + ": cannot be written: No such file or directory");
    BOOST_CHECK_EQUAL(tla_wave_close(open_wave("/dev/full"), 1), TLA_IO); // found when the buffer is flushed
    wave = open_wave("/dev/full");
    tla_wave_signal s = declare(wave, "top", "s", 32);
    for (uint64_t at = 1; at < 100000; at++) { // found long before the end
        BOOST_REQUIRE_EQUAL(tla_wave_set(wave, s, at, at), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_wave_advance(wave, at), TLA_OK);
    }
    BOOST_CHECK_EQUAL(tla_wave_close(wave, 100000), TLA_IO);
}
