// Exclusive accesses of three cores by two masters: one makes blocking calls through adapters of width, one comes in
// four phases through a bridge; a core may use either. Beside a naive model that knows when each byte was written.
#include "controller_bench.hpp"
#include "slow_lane.hpp"
#include "tests/unit/seeded_random.hpp"
#include "tlmalloc/modules/at_lt_bridge.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"
#include "tlmalloc/modules/width_adapter.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <array>
#include <optional>

using namespace controller_bench;

namespace {

constexpr unsigned cores = 3;
constexpr std::uint64_t base = 0x8000'0000, window = 48;

// What a load reserved is worth something as long as none of its bytes has been written since.
class written_when {
  public:
    bytes all = bytes(window);

    void load_reserved(unsigned core, std::uint64_t first, std::uint64_t length) {
        pairs_[core] = {true, first, length, ++now_};
    }
    bool store_conditional(unsigned core, std::uint64_t first, const bytes &data) {
        const pair loaded = pairs_[core];
        pairs_[core].open = false;
        if (!stands(loaded) || first < loaded.first || first + data.size() > loaded.first + loaded.length) return false;
        store(first, data);
        return true;
    }
    void store(std::uint64_t first, const bytes &data) {
        now_++;
        for (std::uint64_t i = 0; i < data.size(); i++) {
            all[first + i] = data[i];
            written_[first + i] = now_;
        }
    }
    // Whether somebody's reservation of this byte stands.
    bool is_reserved(std::uint64_t at) const {
        for (const pair &one : pairs_)
            if (stands(one) && at >= one.first && at < one.first + one.length) return true;
        return false;
    }
    const std::uint64_t *range_of(unsigned core) const { return pairs_[core].open ? &pairs_[core].first : nullptr; }
    std::uint64_t length_of(unsigned core) const { return pairs_[core].length; }

  private:
    struct pair {
        bool open = false;
        std::uint64_t first = 0, length = 0, when = 0;
    };
    bool stands(const pair &one) const {
        for (std::uint64_t i = 0; one.open && i < one.length; i++)
            if (written_[one.first + i] > one.when) return false;
        return one.open;
    }
    std::uint64_t now_ = 0;
    std::array<std::uint64_t, window> written_{};
    std::array<pair, cores> pairs_;
};

// The slice itself, or one behind a bridge, which calls it in four phases and waits; or that and, in front of the
// controller, one for the blocking calls, which waits until they are due. Or behind somebody else's lane, in which
// reads overtake writes, and short writes long ones.
enum class behind { slice, bridge, bridges, lane };

struct two_masters {
    memory_controller controller;
    hbm_slice slice;
    std::optional<lt_at_bridge> front, bridge;
    std::optional<slow_lane> lane;
    width_adapter<32, 64> widen{"widen"};
    width_adapter<64> narrow{"narrow"};
    at_lt_bridge phases{"phases", {}};
    tlmalloc::testing::initiator blocking{"blocking"}, phased{"phased"};
    initiator cpu{"cpu"}; // its thread is the test's

    two_masters(behind what) : controller("controller", config()), slice("slice", slice_config()) {
        if (what == behind::slice) {
            controller.slice.bind(slice.in);
        } else if (what == behind::lane) {
            lane.emplace("lane");
            lane->inside = [](tlm::tlm_generic_payload &payload) {
                if (payload.is_write()) sc_core::wait(from_ps(payload.get_data_length() > 1 ? 60'000 : 20'000));
            };
            controller.slice.bind(lane->in);
            lane->out.bind(slice.in);
        } else {
            bridge.emplace("bridge", bridge_config());
            controller.slice.bind(bridge->in);
            bridge->out.bind(slice.in);
        }
        blocking.out.bind(widen.in);
        widen.out.bind(narrow.in);
        if (what == behind::bridges) { // it knows that the controller keeps reservations
            lt_at_bridge::config c = bridge_config();
            c.base = base;
            c.exclusive = true;
            c.largest = 4096; // nothing here is cut
            c.powers_of_two = false;
            front.emplace("front", c);
            narrow.out.bind(front->in);
            front->out.bind(controller.in);
        } else {
            narrow.out.bind(controller.in);
        }
        phased.out.bind(phases.in);
        phases.out.bind(controller.in);
        phased.style = tlmalloc::testing::coding::approximately_timed;
        cpu.out.bind(controller.control);
    }
    static memory_controller::config config() {
        memory_controller::config c = small();
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.memory.layout = TLA_LAYOUT_PLAIN;
        c.memory.of[TLA_HBM].base = base;
        return c;
    }
    static hbm_slice::config slice_config() {
        hbm_slice::config c = bench::slice_config();
        c.latency_ps = 40'000;
        return c;
    }
    static lt_at_bridge::config bridge_config() {
        lt_at_bridge::config c;
        c.capacity = slice_bytes;
        return c;
    }
    // An access of a core that is `ahead_ns` ahead of the simulation, over when it returns. `exclusive` says afterwards
    // whether a store was made.
    void access(bool by_phases, unsigned core, tlm::tlm_command command, std::uint64_t at, bytes &data, bool &exclusive,
                std::uint64_t ahead_ns = 0) {
        tlmalloc::testing::initiator &master = by_phases ? phased : blocking;
        requester who(0, core);
        who.exclusive = exclusive;
        tlm::tlm_generic_payload &payload = master.make(command, base + at, data.data(), data.size());
        payload.set_extension(&who);
        sc_core::sc_time delay = from_ps(1000 * ahead_ns);
        master.transport(payload, delay);
        if (delay > sc_core::SC_ZERO_TIME) sc_core::wait(delay);
        BOOST_REQUIRE_EQUAL(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
        payload.clear_extension(&who);
        master.give_back(payload);
        exclusive = who.exclusive;
    }
};

// One access after the other, by any core over any master: what is made, what is read, and where pointers are given,
// are the model's.
void random_accesses_do_what_the_model_does(std::uint64_t seed, behind what = behind::slice) {
    two_masters m(what);
    written_when model;
    seeded_random random(seed);
    unsigned made = 0, failed = 0, refused = 0;
    m.cpu.body = [&] {
        for (int n = 0; n < 20'000; n++) {
            const auto core = static_cast<unsigned>(random.between(0, cores - 1));
            const bool by_phases = random.one_in(2);
            std::uint64_t length = random.between(1, 8), first = random.between(0, window - length);
            bool exclusive = false;
            bytes data(length), there;
            switch (random.between(0, 9)) {
            case 0:
            case 1: // a store
                for (std::uint8_t &byte : data)
                    byte = static_cast<std::uint8_t>(random.between(0, 255));
                model.store(first, data);
                m.access(by_phases, core, tlm::TLM_WRITE_COMMAND, first, data, exclusive);
                break;
            case 2: { // a pointer, which ends where reservations begin
                tlm::tlm_generic_payload payload;
                tlm::tlm_dmi dmi;
                payload.set_write();
                payload.set_address(base + first);
                const bool granted = (by_phases ? m.phased : m.blocking).out->get_direct_mem_ptr(payload, dmi);
                BOOST_REQUIRE_EQUAL(granted, !model.is_reserved(first));
                refused += !granted;
                for (std::uint64_t at = 0; granted && at < window; at++)
                    if (base + at >= dmi.get_start_address() && base + at <= dmi.get_end_address())
                        BOOST_REQUIRE(!model.is_reserved(at));
                break;
            }
            case 3:
            case 4:
            case 5: // LR
            case 6: // a load
                exclusive = !random.one_in(4);
                if (exclusive) model.load_reserved(core, first, length);
                there.assign(model.all.begin() + static_cast<std::ptrdiff_t>(first),
                             model.all.begin() + static_cast<std::ptrdiff_t>(first + length));
                m.access(by_phases, core, tlm::TLM_READ_COMMAND, first, data, exclusive);
                BOOST_REQUIRE(data == there);
                break;
            default: { // SC, mostly of what the core has loaded or a part of it
                const std::uint64_t *const loaded = model.range_of(core);
                if (loaded && !random.one_in(8)) {
                    const std::uint64_t skip = random.one_in(3) ? random.between(0, model.length_of(core) - 1) : 0;
                    first = *loaded + skip;
                    length = model.length_of(core) - skip;
                }
                data.assign(length, static_cast<std::uint8_t>(n));
                const bool due = model.store_conditional(core, first, data);
                exclusive = true;
                m.access(by_phases, core, tlm::TLM_WRITE_COMMAND, first, data, exclusive);
                BOOST_REQUIRE_EQUAL(exclusive, due);
                (due ? made : failed)++;
            }
            }
        }
        bytes end(window);
        bool exclusive = false;
        m.access(true, 0, tlm::TLM_READ_COMMAND, 0, end, exclusive);
        BOOST_CHECK(end == model.all);
    };
    simulate({&m.cpu});
    BOOST_CHECK_GT(made, 1000u);
    BOOST_CHECK_GT(failed, 1000u);
    BOOST_CHECK_GT(refused, 100u);
    BOOST_TEST_MESSAGE(made << " conditional stores were made, " << failed << " were not, " << refused
                            << " pointers were refused");
}

// All at once: three cores count in three words over two masters, each access as far ahead of the simulation as it
// likes. No increment is lost, and none of the stores that others make in between to a byte of the same word.
void three_cores_lose_no_increment(behind what) {
    two_masters m(what);
    constexpr unsigned times = 400;
    unsigned failed = 0, lost = 0;
    std::deque<initiator> threads;
    for (unsigned core = 0; core < cores; core++) {
        initiator &thread = threads.emplace_back(("core" + std::to_string(core)).c_str());
        thread.out.bind(m.controller.control); // unused
        thread.body = [&m, &failed, &lost, core] {
            seeded_random random(190 + core);
            for (unsigned n = 0; n < times; n++)
                for (const std::uint64_t word : {0u, 8u, 16u}) {
                    const auto ahead = [&] { return random.one_in(2) ? random.between(0, 300) : 0; };
                    bool made = false;
                    while (!made) {
                        bytes data(4);
                        bool exclusive = true;
                        m.access(core == 2, core, tlm::TLM_READ_COMMAND, word, data, exclusive, ahead());
                        if (random.one_in(2)) sc_core::wait(from_ps(1000 * random.between(0, 99)));
                        for (std::size_t i = 0; i < 2 && ++data[i] == 0; i++) {
                        }
                        made = true;
                        m.access(core == 2, core, tlm::TLM_WRITE_COMMAND, word, data, made, ahead());
                        failed += !made;
                    }
                    if (word / 8 != core) continue; // the last byte of one word is each core's own, for plain stores
                    bytes own(1, static_cast<std::uint8_t>(n + 1)), is(1);
                    bool plain = false;
                    m.access(core == 2, core, tlm::TLM_WRITE_COMMAND, word + 3, own, plain, ahead());
                    if (random.one_in(2)) sc_core::wait(from_ps(1000 * random.between(0, 400)));
                    m.access(core == 2, core, tlm::TLM_READ_COMMAND, word + 3, is, plain);
                    lost += is != own;
                }
        };
    }
    m.cpu.body = [] {};
    BOOST_TEST_INFO("seeds 190 to 192");
    simulate({&m.cpu, &threads[0], &threads[1], &threads[2]});
    for (const std::uint64_t word : {0u, 8u, 16u}) {
        bytes sum(4);
        tlm::tlm_generic_payload look;
        look.set_read();
        look.set_address(base + word);
        look.set_data_ptr(sum.data());
        look.set_data_length(4);
        BOOST_CHECK_EQUAL(m.blocking.out->transport_dbg(look), 4u);
        BOOST_CHECK_EQUAL(sum[0] + 256 * sum[1], int(cores * times));
    }
    BOOST_CHECK_EQUAL(lost, 0u);
    BOOST_CHECK_GT(failed, 20u);
    BOOST_TEST_MESSAGE(failed << " conditional stores were not made");
}

// A store that is called first and due last comes between the two of a pair.
void a_store_that_is_on_its_way_comes_between(behind what) {
    two_masters m(what);
    initiator storer("storer");
    storer.out.bind(m.controller.control); // unused
    bool plain = false, made = true, reserves = true;
    bytes stored(1, 9), loaded(1), changed(1, 1), is(1);
    storer.body = [&] { m.access(false, 0, tlm::TLM_WRITE_COMMAND, 0, stored, plain, 200); };
    m.cpu.body = [&] {
        sc_core::wait(from_ps(10'000));
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, loaded, reserves);
        BOOST_CHECK_EQUAL(loaded[0], 0);
        sc_core::wait(from_ps(600'000));
        m.access(false, 1, tlm::TLM_WRITE_COMMAND, 0, changed, made);
        BOOST_CHECK(!made);
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, is, plain);
        BOOST_CHECK_EQUAL(is[0], 9);
        reserves = made = true;
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, loaded, reserves); // and again
        m.access(false, 1, tlm::TLM_WRITE_COMMAND, 0, changed, made);
        BOOST_CHECK(made);
    };
    simulate({&m.cpu, &storer});
}

// A store that is called while an exclusive write is on its way, and due before it, is not overwritten by it.
void a_store_is_not_overwritten(behind what) {
    two_masters m(what);
    initiator storer("storer");
    storer.out.bind(m.controller.control); // unused
    bool plain = false, made = true, reserves = true;
    bytes stored(1, 9), both(2, 1), is(2);
    storer.body = [&] {
        sc_core::wait(from_ps(400'000));
        m.access(false, 0, tlm::TLM_WRITE_COMMAND, 1, stored, plain);
    };
    m.cpu.body = [&] {
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, both, reserves);
        sc_core::wait(from_ps(390'000) - sc_core::sc_time_stamp());
        both[0]++;
        m.access(false, 1, tlm::TLM_WRITE_COMMAND, 0, both, made, 200);
        sc_core::wait(from_ps(600'000));
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, is, plain);
        BOOST_CHECK_EQUAL(is[1], 9);
        BOOST_CHECK_EQUAL(is[0], made ? 1 : 0);
    };
    simulate({&m.cpu, &storer});
}

} // namespace

// A store that waits for an exclusive write is not overtaken by a load of its own initiator.
BOOST_AUTO_TEST_CASE(a_load_stays_after_a_store_that_waits_for_an_exclusive_write) {
    two_masters m(behind::lane);
    m.lane->inside = [](tlm::tlm_generic_payload &payload) {
        if (payload.is_write() && payload.get_data_length() > 1) sc_core::wait(from_ps(60'000));
    };
    initiator storer("storer");
    storer.out.bind(m.controller.control); // unused
    bool made = true, reserves = true;
    bytes stored(1, 9), loaded(1), both(2), is(2);
    storer.body = [&] {
        sc_core::wait(from_ps(410'000));
        auto &store = m.phased.make(tlm::TLM_WRITE_COMMAND, base, stored.data(), 1);
        auto &load = m.phased.make(tlm::TLM_READ_COMMAND, base, loaded.data(), 1);
        m.phased.begin(store);
        m.phased.begin(load);
        m.phased.finish(store);
        m.phased.finish(load);
        BOOST_CHECK_EQUAL(loaded[0], 9);
        m.phased.give_back(store);
        m.phased.give_back(load);
    };
    m.cpu.body = [&] {
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, both, reserves);
        sc_core::wait(from_ps(400'000) - sc_core::sc_time_stamp());
        both = {1, 1};
        m.access(false, 1, tlm::TLM_WRITE_COMMAND, 0, both, made);
        BOOST_CHECK(made);
        sc_core::wait(from_ps(300'000));
        reserves = false;
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, is, reserves);
        BOOST_CHECK_EQUAL(is[0], 9);
        BOOST_CHECK_EQUAL(is[1], 1);
    };
    simulate({&m.cpu, &storer});
}
BOOST_AUTO_TEST_CASE(a_store_that_is_on_its_way_comes_between_a_pair) {
    a_store_that_is_on_its_way_comes_between(behind::slice);
}
BOOST_AUTO_TEST_CASE(a_store_that_is_on_its_way_comes_between_a_pair_before_a_bridge) {
    a_store_that_is_on_its_way_comes_between(behind::bridge);
}
// The same, where a module in front takes so long and has passed the store on before the first exclusive access comes.
BOOST_AUTO_TEST_CASE(a_store_that_was_passed_on_before_comes_between_a_pair) {
    two_masters m(behind::slice);
    memory_controller::config slow = two_masters::config();
    slow.memory.of[TLA_HBM].base = 0;
    slow.memory.of[TLA_HBM].bytes = std::uint64_t{1} << 32; // what it passes on is the address
    slow.latency_ps = 200'000;
    memory_controller front("front", slow);
    initiator storer("storer"), unused("unused");
    storer.out.bind(front.in);
    unused.out.bind(front.control);
    front.slice.bind(m.controller.in);
    bool made = true, reserves = true;
    bytes loaded(1), changed(1, 1);
    storer.body = [&] { storer.write(base, bytes(1, 9)); };
    m.cpu.body = [&] {
        sc_core::wait(from_ps(10'000));
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, loaded, reserves);
        BOOST_CHECK_EQUAL(loaded[0], 0);
        sc_core::wait(from_ps(600'000));
        m.access(false, 1, tlm::TLM_WRITE_COMMAND, 0, changed, made);
        BOOST_CHECK(!made);
        reserves = made = true;
        m.access(false, 1, tlm::TLM_READ_COMMAND, 0, loaded, reserves);
        BOOST_CHECK_EQUAL(loaded[0], 9);
        m.access(false, 1, tlm::TLM_WRITE_COMMAND, 0, changed, made);
        BOOST_CHECK(made);
    };
    simulate({&m.cpu, &storer});
}
BOOST_AUTO_TEST_CASE(a_store_is_not_overwritten_by_an_exclusive_write) {
    a_store_is_not_overwritten(behind::slice);
}
BOOST_AUTO_TEST_CASE(a_store_is_not_overwritten_by_an_exclusive_write_before_a_bridge) {
    a_store_is_not_overwritten(behind::bridge);
}
BOOST_AUTO_TEST_CASE(random_exclusive_accesses_of_three_cores_over_two_masters_do_what_a_naive_model_does) {
    random_accesses_do_what_the_model_does(191);
}
BOOST_AUTO_TEST_CASE(random_exclusive_accesses_of_three_cores_over_two_masters_do_so_before_a_bridge) {
    random_accesses_do_what_the_model_does(193, behind::bridge);
}
BOOST_AUTO_TEST_CASE(random_exclusive_accesses_of_three_cores_over_two_masters_do_so_between_bridges) {
    random_accesses_do_what_the_model_does(194, behind::bridges);
}
BOOST_AUTO_TEST_CASE(three_cores_over_two_masters_lose_no_increment) {
    three_cores_lose_no_increment(behind::slice);
}
BOOST_AUTO_TEST_CASE(three_cores_over_two_masters_lose_no_increment_between_bridges) {
    three_cores_lose_no_increment(behind::bridges);
}
BOOST_AUTO_TEST_CASE(three_cores_over_two_masters_lose_no_increment_before_a_bridge) {
    three_cores_lose_no_increment(behind::bridge);
}
BOOST_AUTO_TEST_CASE(three_cores_over_two_masters_lose_no_increment_where_accesses_overtake) {
    three_cores_lose_no_increment(behind::lane);
}
