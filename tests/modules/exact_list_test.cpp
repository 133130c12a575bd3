// A free list in HBM is walked access by access, while others read through controller and slice.
// Beside a plain event model, to the picosecond.
#include "controller_bench.hpp"
#include "plain_event_model.hpp"

#include <memory>
#include <random>

using namespace controller_bench;

namespace {

const std::uint64_t latency_ps = 40'000, burst_ps = 8000, list_bytes = 16 << 10; // 1024 nodes
const unsigned holes = 200;                                                      // and the rest: 201 nodes

hbm_slice::config slice_with_latency() {
    hbm_slice::config config = bench::slice_config();
    config.latency_ps = latency_ps;
    return config;
}

memory_controller::config list_in_slice() {
    memory_controller::config config = small();
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = list_bytes;
    config.cost.fixed_ps = 10'000;
    return config;
}

struct timed {
    std::uint64_t pause_ps, address; // of a read; of a command nothing
    std::uint64_t start_ps = 0, end_ps = 0;
};
using program = std::vector<timed>;

// Readers with pauses up to `pause_ps`, and a sender whose commands walk the whole list.
struct traffic {
    traffic(unsigned readers, unsigned reads_each, unsigned command_count, std::uint64_t pause_ps, unsigned seed)
        : reads(readers), commands(command_count) {
        BOOST_TEST_MESSAGE("seed " << seed);
        std::mt19937 random(seed);
        for (program &p : reads)
            for (unsigned i = 0; i < reads_each; i++)
                p.push_back({1 + random() % pause_ps, random() % ((slice_bytes - list_bytes) / 256) * 256});
        for (timed &c : commands)
            c.pause_ps = 1 + random() % 100'000;
    }
    std::vector<program> reads;
    program commands; // ALLOC and FREE in turn
};

struct platform {
    platform() {
        controller.slice.bind(slice.in);
        cpu.out.bind(controller.control);
    }

    // The list is made first; returns when the traffic began.
    std::uint64_t run(traffic &what) {
        sc_core::sc_event begin;
        std::uint64_t began = 0;
        std::vector<std::unique_ptr<initiator>> readers;
        for (program &p : what.reads) {
            readers.push_back(std::make_unique<initiator>(("reader" + std::to_string(readers.size())).c_str()));
            readers.back()->out.bind(controller.in);
            readers.back()->body = [&p, &begin, reader = readers.back().get()] {
                sc_core::wait(begin);
                for (timed &t : p) {
                    sc_core::wait(from_ps(t.pause_ps));
                    t.start_ps = to_ps(sc_core::sc_time_stamp());
                    sc_core::sc_time delay;
                    bytes data(256);
                    BOOST_CHECK_EQUAL(reader->read(hbm(t.address), data, delay), tlm::TLM_OK_RESPONSE);
                    sc_core::wait(delay);
                    t.end_ps = to_ps(sc_core::sc_time_stamp());
                }
            };
        }
        cpu.body = [&] {
            std::vector<std::uint64_t> blocks;
            for (unsigned i = 0; i < 2 * holes; i++)
                blocks.push_back(cpu.command(0, alloc_command(TLA_HBM, 100)).value);
            for (unsigned i = 2 * holes; i > 0; i -= 2) // from the back: the holes' nodes take slots 1, 2 ..
                cpu.command(0, free_command(blocks[i - 2], 100));
            began = to_ps(sc_core::sc_time_stamp());
            begin.notify(sc_core::SC_ZERO_TIME);
            std::uint64_t block = 0;
            for (std::size_t i = 0; i < what.commands.size(); i++) {
                timed &t = what.commands[i];
                sc_core::wait(from_ps(t.pause_ps));
                t.start_ps = to_ps(sc_core::sc_time_stamp());
                const tla_completion answer =
                    cpu.command(0, i % 2 ? free_command(block, 4096) : alloc_command(TLA_HBM, 4096));
                BOOST_CHECK_EQUAL(answer.status, TLA_OK);
                block = answer.value;
                t.end_ps = to_ps(sc_core::sc_time_stamp());
            }
        };
        simulate({&cpu});
        for (const auto &reader : readers)
            BOOST_CHECK(reader->finished);
        BOOST_CHECK_EQUAL(controller.get_statistics(TLA_HBM).list_errors, 0u);
        return began;
    }

    hbm_slice slice{"slice", slice_with_latency()};
    memory_controller controller{"controller", list_in_slice()};
    initiator cpu{"cpu"};
};

// The same, said plainly: reads are accesses, a command is a chain of them, each begun when the one before has ended.
void run_plain(traffic &what, std::uint64_t began) {
    using namespace plain;
    events e;
    channels slice = {1, 256, 32'000'000'000, latency_ps, std::vector<server>(8)};
    std::function<void(unsigned, std::size_t, picoseconds)> read = [&](unsigned reader, std::size_t i, picoseconds at) {
        if (i == what.reads[reader].size()) return;
        timed &t = what.reads[reader][i];
        t.start_ps = at + t.pause_ps;
        slice.access(e, false, t.address, 256, t.start_ps, [&, reader, i](picoseconds end) {
            what.reads[reader][i].end_ps = end;
            read(reader, i + 1, end);
        });
    };
    std::function<void(std::size_t, unsigned, picoseconds)> walk = [&](std::size_t i, unsigned done, picoseconds at) {
        if (i == what.commands.size()) return;
        timed &t = what.commands[i];
        if (done == 0) at = t.start_ps = at + t.pause_ps;
        if (done == holes + 2) { // all nodes have been read and the last one written
            t.end_ps = at + 10'000;
            walk(i + 1, 0, t.end_ps);
            return;
        }
        const std::uint64_t slot = done <= holes ? holes - done : 0;
        slice.access(e, false, slice_bytes - list_bytes + slot * TLA_LIST_NODE_BYTES, TLA_LIST_NODE_BYTES, at,
                     [&walk, i, done](picoseconds end) { walk(i, done + 1, end); });
    };
    for (unsigned reader = 0; reader < what.reads.size(); reader++)
        read(reader, 0, began);
    walk(0, 0, began);
    e.run();
}

void compare(traffic ours) {
    traffic theirs = ours;
    run_plain(theirs, platform().run(ours));
    const auto same = [](const program &a, const program &b) {
        for (std::size_t i = 0; i < a.size(); i++) {
            BOOST_REQUIRE_EQUAL(a[i].start_ps, b[i].start_ps);
            BOOST_REQUIRE_EQUAL(a[i].end_ps, b[i].end_ps);
        }
    };
    for (std::size_t r = 0; r < ours.reads.size(); r++)
        same(ours.reads[r], theirs.reads[r]);
    same(ours.commands, theirs.commands);
}

} // namespace

// 48 ns: what a read takes alone. A walk that booked its whole future in one call let it wait for tens of us.
BOOST_AUTO_TEST_CASE(a_read_beside_a_walk_waits_for_one_access_at_most) {
    traffic t(1, 2000, 20, 100'000, 1);
    platform().run(t);
    std::uint64_t sum = 0, worst = 0;
    for (const timed &read : t.reads[0]) {
        sum += read.end_ps - read.start_ps;
        worst = std::max(worst, read.end_ps - read.start_ps);
    }
    BOOST_CHECK_LT(sum, 2000 * (latency_ps + burst_ps + 1000));
    BOOST_CHECK_GT(sum, 2000 * (latency_ps + burst_ps)); // they do meet
    BOOST_CHECK_LE(worst, latency_ps + 2 * burst_ps);
    for (const timed &c : t.commands) { // each of its accesses may meet the one read
        BOOST_CHECK_GE(c.end_ps - c.start_ps, 10'000 + (holes + 2) * (latency_ps + burst_ps));
        BOOST_CHECK_LE(c.end_ps - c.start_ps, 10'000 + (holes + 2) * (latency_ps + 2 * burst_ps));
    }
}

BOOST_AUTO_TEST_CASE(one_reader_and_a_walk_take_the_time_of_the_plain_event_model) {
    compare(traffic(1, 500, 6, 100'000, 2));
}
BOOST_AUTO_TEST_CASE(sixteen_readers_and_a_walk_take_the_time_of_the_plain_event_model) {
    compare(traffic(16, 200, 6, 100'000, 3));
}
BOOST_AUTO_TEST_CASE(a_slice_that_readers_fill_holds_a_walk_up_as_the_plain_event_model_says) {
    compare(traffic(64, 200, 4, 1000, 4));
}
