// A module of one's own (platform/examples/kv_scratchpad.hpp): what it takes to be one, and that it is one.
#include "platform/examples/kv_scratchpad.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/testing/conformance.hpp"

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t page = 1024;

kv_scratchpad::config config_of() {
    kv_scratchpad::config config;
    config.pages = 4;
    config.page_bytes = page;
    return config;
}

// Takes and gives back a page, so that pointers to it are withdrawn.
struct scratchpad_target : testing::conformance_target {
    kv_scratchpad pages;
    initiator commands{"commands"};
    scratchpad_target() : pages("pages", config_of()) {
        memory = {0, 4 * page - 1};
        commands.out.bind(pages.control);
        commands.body = [] {};
    }
    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(pages.in); }
    std::optional<range> withdraw_dmi() override {
        const std::uint64_t taken = commands.command(0, alloc_command(TLA_TCM, page)).value;
        commands.command(0, free_command(taken, page));
        return range{taken, taken + page - 1};
    }
};

struct bench {
    explicit bench(const kv_scratchpad::config &config) : pages("pages", config) {
        cpu.out.bind(pages.control);
        data.out.bind(pages.in);
    }
    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &data});
    }
    tla_completion alloc(std::uint64_t nbytes = page) { return cpu.command(0, alloc_command(TLA_TCM, nbytes)); }
    tla_completion free(std::uint64_t offset) { return cpu.command(0, free_command(offset, page)); }

    kv_scratchpad pages;
    initiator cpu{"cpu"}, data{"data"};
};

std::uint64_t value_of(const instrumented &module, const std::string &name) {
    for (const statistics_group &part : module.list_statistics())
        for (const statistic &s : part.statistics)
            if (s.name == name) return s.value;
    BOOST_FAIL("no statistic " << name);
    return 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(the_example_takes_at_most_100_lines_without_comments) {
    std::istringstream text(read_text(TLMALLOC_SOURCE_DIR "/platform/examples/kv_scratchpad.hpp"));
    unsigned lines = 0;
    for (std::string line; std::getline(text, line);) {
        const std::size_t first = line.find_first_not_of(' ');
        lines += first != std::string::npos && line.compare(first, 2, "//") != 0;
    }
    BOOST_CHECK_GT(lines, 50u);
    BOOST_CHECK_LE(lines, 100u);
}

BOOST_AUTO_TEST_CASE(the_example_conforms) {
    const testing::make_target make = [] { return std::make_unique<scratchpad_target>(); };
    for (const testing::conformance_rule &rule : testing::conformance_rules())
        for (const testing::coding coding : {testing::coding::loosely_timed, testing::coding::approximately_timed}) {
            const bool lt = coding == testing::coding::loosely_timed;
            if (!(lt ? rule.loosely_timed : rule.approximately_timed)) continue;
            const testing::verdict v = testing::check_conformance(rule, coding, make);
            BOOST_CHECK_MESSAGE(v.result == testing::outcome::passed, rule.name << (lt ? " LT: " : " AT: ") << v.text);
        }
}

BOOST_AUTO_TEST_CASE(pages_are_handed_out_in_the_order_in_which_they_were_freed) {
    bench b(config_of());
    b.run([&] {
        for (std::uint64_t i = 0; i < 4; i++)
            BOOST_CHECK_EQUAL(b.alloc().value, i * page);
        BOOST_CHECK_EQUAL(b.alloc().status, TLA_EXHAUSTED);
        for (const std::uint64_t freed : {2 * page, std::uint64_t{0}})
            BOOST_CHECK_EQUAL(b.free(freed).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.alloc(1).value, 2 * page);
        BOOST_CHECK_EQUAL(b.free(0).status, TLA_NOT_ALLOCATED); // twice
        BOOST_CHECK_EQUAL(b.free(7).status, TLA_NOT_ALLOCATED); // inside a page
        BOOST_CHECK_EQUAL(b.free(4 * page).status, TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(b.alloc(page + 1).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.alloc().total_free, 0u);
    });
    BOOST_CHECK_EQUAL(value_of(b.pages, "allocs"), 8u);
    BOOST_CHECK_EQUAL(value_of(b.pages, "frees"), 5u);
    BOOST_CHECK_EQUAL(value_of(b.pages, "failed"), 5u);
}

BOOST_AUTO_TEST_CASE(commands_take_their_price) {
    kv_scratchpad::config config = config_of();
    config.cost.fixed_ps = 5000;
    bench b(config);
    b.run([&] {
        sc_core::sc_time first, second, access;
        b.cpu.post(0, alloc_command(TLA_TCM, page), first);
        b.cpu.post(TLA_PORT_BYTES, alloc_command(TLA_TCM, page), second);
        b.cpu.completion(TLA_PORT_BYTES, second);
        BOOST_CHECK_EQUAL(local_ps(second), 10'000u);
        bytes data(page);
        const std::uint64_t before = local_ps(access);
        BOOST_CHECK_EQUAL(b.data.read(0, data, access), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(access) - before, 8000u); // 1024 B at 128 GB/s
    });
    BOOST_CHECK_EQUAL(value_of(b.pages, "busy_ps"), 10'000u);
    BOOST_CHECK_EQUAL(value_of(b.pages, "bytes_read"), page);
}

BOOST_AUTO_TEST_CASE(its_figures_appear_in_waveforms_and_trace_files_and_its_statistics_in_tables) {
    scratch_directory scratch;
    bench b(config_of());
    waveform wave(scratch.path("wave.vcd"));
    b.pages.record(wave);
    sc_core::sc_trace_file *file = sc_core::sc_create_vcd_trace_file(scratch.path("trace").c_str());
    b.pages.trace(file);
    b.run([&] {
        b.alloc();
        sc_core::wait(1, sc_core::SC_NS);
    });
    sc_core::sc_close_vcd_trace_file(file);
    BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    for (const std::string name : {"wave.vcd", "trace.vcd"})
        for (const std::string figure : {"bytes_read", "bytes_written", "pages_in_use"})
            BOOST_CHECK_MESSAGE(read_text(scratch.path(name)).find(figure) != std::string::npos, name << figure);
    std::ostringstream table;
    b.pages.print_statistics(table);
    BOOST_CHECK_MESSAGE(table.str().find("ALLOC, including failed commands") != std::string::npos, table.str());
}

BOOST_AUTO_TEST_CASE(a_scratchpad_without_pages_cannot_be_built) {
    kv_scratchpad::config config;
    config.pages = 0;
    check_refused([&] { kv_scratchpad pages("pages", config); },
                  "/tlmalloc/kv_scratchpad/config: the capacity must be at least 1 byte");
}

BOOST_AUTO_TEST_CASE(a_scratchpad_without_bandwidth_cannot_be_built) {
    kv_scratchpad::config config;
    config.bandwidth = 0;
    check_refused([&] { kv_scratchpad pages("pages", config); },
                  "/tlmalloc/kv_scratchpad/config: bandwidth must be at least 1 byte/s, and the host must have memory "
                  "for the pages");
}
