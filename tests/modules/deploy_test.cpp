// Plans in the memory of a whole platform: one block of each slice, mapped once, and tensors at fixed places in it.
#include "../unit/seeded_random.hpp"
#include "platform_bench.hpp"
#include "tlmalloc/plan/views.h"

#include <map>

using namespace platform_benches;

namespace {

const std::uint64_t kib = 1024;
const pe_location pe0{0, 0, 0}, pe1{0, 0, 1};

// Two PEs with slices of 1 MiB.
struct bench : platform_bench {
    bench() : platform_bench({}, {}) {}

    deployment deploy(std::uint64_t height, const std::vector<planned_tensor> &tensors,
                      std::vector<pe_location> pes = {pe0, pe1}, spread kind = spread::split) {
        deployment made;
        status = platform.host().deploy("net", height, tensors, {std::move(pes), kind}, &made, &error);
        BOOST_CHECK((made.arena == nullptr) == (status != TLA_OK));
        BOOST_CHECK_EQUAL(made.tensors.size(), status ? 0 : tensors.size());
        return made;
    }

    memory_controller::statistics of(std::size_t pe) { return platform.pes()[pe]->controller.get_statistics(TLA_HBM); }
    std::uint64_t mapping_commands() { return platform.addresses().get_statistics().maps; }
};

} // namespace

// Plans of any height over any PEs, several at a time, whose tensors may overlap: every byte is the last one written.
BOOST_AUTO_TEST_CASE(random_plans_hold_what_was_written_last) {
    bench b;
    seeded_random random(17);
    b.run_and_clean_up([&] {
        struct deployed {
            deployment made;
            std::vector<planned_tensor> plan;
            std::vector<bytes> slices; // what stands in each PE's
        };
        std::vector<deployed> all;
        for (int round = 0; round < 60; round++) {
            if (all.size() == 3) {
                const std::size_t which = random.between(0, 2);
                BOOST_REQUIRE_EQUAL(b.platform.host().free_tensor(all[which].made.arena, &b.error), TLA_OK);
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
            }
            const std::uint64_t height = random.between(1, 20'000);
            std::vector<pe_location> pes =
                random.one_in(2) ? std::vector<pe_location>{pe1, pe0} : std::vector<pe_location>{pe0, pe1};
            if (random.one_in(3)) pes.pop_back();
            deployed d;
            for (std::uint64_t i = 0, count = random.between(1, 6); i < count; i++) {
                const std::uint64_t nbytes = random.between(1, height);
                d.plan.push_back({"t", nbytes, random.between(0, height - nbytes)});
            }
            d.made = b.deploy(height, d.plan, pes);
            BOOST_REQUIRE_MESSAGE(b.status == TLA_OK, b.error.text);
            d.slices.assign(pes.size(), bytes(height));
            b.write(d.made.arena, bytes(height * pes.size()));
            for (std::size_t i = 0; i < d.plan.size(); i++) {
                const planned_tensor &t = d.plan[i];
                const bytes data = pattern(t.nbytes * pes.size(), static_cast<unsigned>(random.between(1, 1000)));
                b.write(&d.made.tensors[i], data);
                for (std::size_t pe = 0; pe < pes.size(); pe++)
                    std::copy_n(&data[pe * t.nbytes], t.nbytes, &d.slices[pe][t.offset]);
            }
            all.push_back(d);
            for (const deployed &each : all)
                for (std::size_t i = 0; i < each.plan.size(); i++) {
                    bytes expected;
                    for (const bytes &slice : each.slices)
                        expected.insert(expected.end(), &slice[each.plan[i].offset],
                                        &slice[each.plan[i].offset] + each.plan[i].nbytes);
                    BOOST_REQUIRE(b.read(&each.made.tensors[i]) == expected);
                }
        }
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_plan_is_one_block_of_each_slice_mapped_once) {
    bench b;
    b.run_and_clean_up([&] {
        const deployment d = b.deploy(16 * kib, {{"x", 1000, 0}, {"y", 3000, 1000}, {"z", 1000, 15 * kib + 24}});
        BOOST_REQUIRE_EQUAL(b.status, TLA_OK);
        for (std::size_t pe = 0; pe < 2; pe++) {
            BOOST_CHECK_EQUAL(b.of(pe).allocs, 1u);
            BOOST_CHECK_EQUAL(b.of(pe).arena.used, 16 * kib);
            BOOST_CHECK_EQUAL(b.platform.pes()[pe]->mmu.get_statistics().table.mapped_bytes, 32 * kib);
        }
        BOOST_CHECK_EQUAL(b.mapping_commands(), 1u);
        std::vector<bytes> data;
        for (const tensor &t : d.tensors) {
            data.push_back(pattern(t.nbytes, static_cast<unsigned>(data.size() + 1)));
            b.write(&t, data.back());
        }
        for (std::size_t i = 0; i < d.tensors.size(); i++) {
            const tensor &t = d.tensors[i];
            BOOST_REQUIRE_EQUAL(t.shards.size(), 2u);
            BOOST_CHECK(b.read(&t) == data[i]);
            const bytes second(data[i].begin() + static_cast<std::ptrdiff_t>(t.nbytes / 2), data[i].end());
            BOOST_CHECK(b.look(t.shards[1].pa.value, t.nbytes / 2) == second);
        }
        // Where kernels find them: each PE copies the whole plan in its slice.
        BOOST_CHECK_EQUAL(d.tensors[1].va.value, d.arena->va.value + 1000);
        tensor *copy = b.make(32 * kib, TLA_HBM);
        BOOST_REQUIRE(copy);
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {d.arena->va.value, copy->va.value, d.height}, &b.error), TLA_OK);
        const bytes seen = b.read(copy);
        for (std::size_t i = 0; i < d.tensors.size(); i++)
            for (std::size_t pe = 0; pe < 2; pe++) {
                const std::uint64_t part = d.tensors[i].nbytes / 2,
                                    at = d.tensors[i].va.value - d.arena->va.value + pe * d.height;
                BOOST_CHECK(std::equal(&seen[at], &seen[at] + part, &data[i][pe * part]));
            }
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(copy, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.leaks(), 1u + 2 + 2 + 1); // the arena, HBM, MMUs, virtual addresses
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(d.arena, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.of(0).frees, 2u); // and the copy
        BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_failed_deployment_reports_the_cause_and_leaves_nothing) {
    bench b;
    b.run_and_clean_up([&] {
        const auto refused = [&](tla_status status, const std::string &text) {
            BOOST_CHECK_EQUAL(b.status, status);
            BOOST_CHECK_MESSAGE(std::string(b.error.text).find(text) == 0, b.error.text);
            BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
        };
        b.deploy(0, {{"x", 1, 0}});
        refused(TLA_INVALID_ARGUMENT, "plan net: 0 bytes with 1 tensors: both must be at least 1");
        b.deploy(kib, {});
        refused(TLA_INVALID_ARGUMENT, "plan net: 1024 bytes with 0 tensors");
        b.deploy(kib, {{"x", 0, 0}});
        refused(TLA_INVALID_ARGUMENT, "plan net: tensor x: size must be at least 1 byte");
        b.deploy(kib, {{"x", 1, 0}}, {pe0, pe1}, spread::replicate);
        refused(TLA_INVALID_ARGUMENT, "plan net: 1024 bytes with 1 tensors, not split");
        b.deploy(kib, {{"x", 1, 0}}, {});
        refused(TLA_INVALID_ARGUMENT, "tensor net: must have elements, PEs");
        b.deploy(kib, {{"x", 1, 0}}, {pe0, {0, 0, 2}});
        refused(TLA_INVALID_ARGUMENT, "tensor net: unknown PE sip0.cube0.pe2 in this platform");
        for (const planned_tensor &t : {planned_tensor{"x", 24, 1001}, {"x", 1025, 0}, {"x", 1, UINT64_MAX}}) {
            b.deploy(kib, {{"fits", kib, 0}, t});
            refused(TLA_OUT_OF_RANGE, "plan net: tensor x of " + std::to_string(t.nbytes) + " bytes at " +
                                          std::to_string(t.offset) + ": must end at 1024 or before");
        }
        b.deploy(UINT64_MAX, {{"x", 1, 0}});
        refused(TLA_INVALID_ARGUMENT, "plan net: 2 times 18446744073709551615 bytes: must be less than 2^64 in total");
        b.deploy(1025 * kib, {{"x", 1, 0}});
        refused(TLA_EXHAUSTED, "tensor net: HBM of sip0.cube0.pe0 overflow: requested 1049600 bytes, 1048576 free, ");
        b.deploy(kib, {{"x", 24, 1000}}); // the last byte that there is
        BOOST_CHECK_EQUAL(b.status, TLA_OK);
    });
}

// A slice of b is read when the concat of a and b is dead: the literal plan has written the last op's output over it.
BOOST_AUTO_TEST_CASE(a_literal_plan_with_views_overwrites_bytes_that_a_repaired_plan_keeps) {
    enum { x, a, b, slice, joined, y, z, w };
    const tla_lifetime tensors[] = {{0, 3, 4096},  {1, 5, 8192},  {2, 5, 16384}, {3, 8, 4096},
                                    {4, 6, 24576}, {5, 7, 12288}, {6, 8, 20480}, {7, 9, 28672}};
    const std::size_t sources[] = {b, a, b};
    const tla_plan_view views[] = {{}, {}, {}, {0, 1, 8192}, {1, 2, 0}, {}, {}, {}};
    const tla_plan_io io[] = {TLA_PLAN_INPUT, {}, {}, {}, {}, {}, {}, TLA_PLAN_OUTPUT};
    bench m;
    m.run_and_clean_up([&] {
        for (const bool literal : {true, false}) {
            tla_plan_program program{};
            program.tensors = tensors;
            program.views = views;
            program.sources = sources;
            program.io = io;
            program.n = 8;
            program.alignment = 4096;
            program.literal = literal;
            std::vector<tla_lifetime> live(program.n), planned;
            std::vector<std::uint64_t> offsets(program.n), at(program.n);
            BOOST_REQUIRE_EQUAL(tla_plan_live(&program, live.data()), TLA_OK);
            for (const tla_lifetime &each : live)
                if (each.nbytes) planned.push_back(each);
            std::uint64_t height = 0;
            const tla_plan_options options{0, 4096, false};
            BOOST_REQUIRE_EQUAL(
                tla_plan(TLA_PLAN_SIZE_ORDER, planned.data(), planned.size(), &options, offsets.data(), &height),
                TLA_OK);
            BOOST_CHECK_EQUAL(height, literal ? 65536u : 77824u);
            for (std::size_t i = 0, next = 0; i < program.n; i++)
                if (live[i].nbytes) at[i] = offsets[next++];
            BOOST_REQUIRE_EQUAL(tla_plan_addresses(&program, height, at.data(), nullptr), TLA_OK);
            std::vector<planned_tensor> plan;
            for (std::size_t i = 0; i < program.n; i++)
                plan.push_back({"t", tensors[i].nbytes, at[i]});
            const deployment d = m.deploy(height, plan);
            BOOST_REQUIRE_EQUAL(m.status, TLA_OK);
            std::map<std::size_t, bytes> written;
            for (const std::size_t each : {x, a, b, y, z, w}) {
                written[each] = pattern(2 * tensors[each].nbytes, static_cast<unsigned>(each + 1));
                m.write(&d.tensors[each], written[each]);
                if (each == b) { // the views are there without a copy
                    const bytes whole = m.read(&d.tensors[joined]);
                    BOOST_CHECK(std::equal(&whole[0], &whole[8192], &written[a][0]));
                    BOOST_CHECK(std::equal(&whole[8192], &whole[24576], &written[b][0]));
                }
            }
            const bytes found = m.read(&d.tensors[slice]);
            for (std::size_t pe = 0; pe < 2; pe++) {
                const std::uint8_t *expected = &written[b][pe * 16384 + 8192], *part = &found[pe * 4096];
                BOOST_CHECK_EQUAL(std::equal(part, part + 4096, expected), !literal);
            }
            BOOST_CHECK(m.read(&d.tensors[z]) == written[z]);
            BOOST_CHECK(m.read(&d.tensors[w]) == written[w]);
            BOOST_CHECK_EQUAL(m.platform.host().free_tensor(d.arena, &m.error), TLA_OK);
        }
    });
    BOOST_CHECK(reports().empty());
}
