// The four phases of the memories: same times as LT, back-pressure, responses out of order, references given back.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <random>

using namespace tlmalloc;
using namespace tlmalloc::testing;
using sc_core::SC_NS;
using sc_core::sc_time;

namespace {

// Two initiator-checker pairs, each in front of a memory of its own, and a thread that runs a test's body.
template <typename Memory>
typename Memory::config of_64_kib() {
    typename Memory::config settings = bare<Memory>();
    settings.capacity = 1 << 16;
    return settings;
}

template <typename Memory>
struct bench : sc_core::sc_module {
    initiator lt{"lt"}, at{"at"};
    base_protocol_checker lt_checker{"lt_checker"}, at_checker{"at_checker"};
    Memory lt_memory, at_memory;
    std::function<void()> body;

    bench(const typename Memory::config &settings, std::function<void(bench &)> run)
        : sc_module(sc_core::sc_module_name("bench")), lt_memory("lt_memory", settings),
          at_memory("at_memory", settings), body([this, run] { run(*this); }) {
        at.style = coding::approximately_timed;
        lt.out.bind(lt_checker.in);
        lt_checker.out.bind(lt_memory.in);
        at.out.bind(at_checker.in);
        at_checker.out.bind(at_memory.in);
        TLMALLOC_HAS_PROCESS(bench);
        SC_THREAD(main);
        sc_core::sc_start();
        BOOST_TEST(finished);
        BOOST_TEST(lt_checker.report() == "");
        BOOST_TEST(at_checker.report() == "");
        BOOST_TEST(at_checker.in_flight() == 0u);
        BOOST_TEST(at.in_use() == 0u);
    }

    void main() {
        body();
        finished = true;
    }

    bool finished = false;
};

struct item {
    tlm::tlm_command command;
    std::uint64_t address;
    std::vector<std::uint8_t> data;
    std::uint64_t gap_ps; // after the request before
};

std::vector<item> random_traffic(std::uint64_t capacity, unsigned count) {
    const unsigned seed = 20250713;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<item> items;
    for (unsigned i = 0; i < count; i++) {
        const std::uint64_t length = 1 + random() % 1024;
        items.push_back({random() % 2 ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND, random() % (capacity - length),
                         std::vector<std::uint8_t>(length), random() % 30000});
        for (std::uint8_t &byte : items.back().data)
            byte = static_cast<std::uint8_t>(random());
    }
    return items;
}

// Sends the same traffic as blocking calls and in four phases; every response must come at the same time and with the
// same bytes.
template <typename Memory>
void calls_and_phases_agree(const typename Memory::config &settings) {
    bench<Memory> b(settings, [&](bench<Memory> &self) {
        std::vector<item> lt_items = random_traffic(settings.capacity, 3000), at_items = lt_items;
        std::vector<std::uint64_t> expected(lt_items.size());
        std::uint64_t at_ps = 0;
        for (std::size_t n = 0; n < lt_items.size(); n++) { // each by a thread at time 0, ahead of the kernel
            at_ps += lt_items[n].gap_ps;
            const auto call = [&, n, at_ps] {
                item &i = lt_items[n];
                auto &payload = self.lt.make(i.command, i.address, i.data.data(), i.data.size());
                sc_time delay = from_ps(at_ps);
                self.lt.transport(payload, delay);
                BOOST_TEST(payload.is_response_ok());
                expected[n] = local_ps(delay);
                self.lt.give_back(payload);
            };
            sc_core::sc_spawn(call, ("call" + std::to_string(10'000 + n)).c_str()); // names decide at one time
        }
        std::vector<tlm::tlm_generic_payload *> sent;
        for (item &i : at_items) {
            sc_core::wait(from_ps(i.gap_ps));
            sent.push_back(&self.at.make(i.command, i.address, i.data.data(), i.data.size()));
            self.at.begin(*sent.back());
        }
        std::vector<std::uint64_t> came;
        for (auto *payload : sent)
            came.push_back(to_ps(self.at.finish(*payload)));
        sc_core::wait(sc_time(1, sc_core::SC_US)); // for the last call
        bool overtaken = false;
        for (std::size_t i = 0; i < sent.size(); i++) {
            BOOST_TEST(came[i] == expected[i]);
            BOOST_TEST(sent[i]->is_response_ok());
            BOOST_TEST((at_items[i].data == lt_items[i].data));
            overtaken = overtaken || (i > 0 && expected[i] < expected[i - 1]);
            self.at.give_back(*sent[i]);
        }
        BOOST_TEST(overtaken); // responses did come out of order
        BOOST_TEST(self.at_checker.most_in_flight() > 2u);
    });
}

} // namespace

// The stated tolerance is none: with responses that end at once, and fewer requests under way than may be outstanding.
BOOST_AUTO_TEST_CASE(the_slice_answers_at_the_same_times) {
    hbm_slice::config settings = bare<hbm_slice>();
    settings.capacity = 1 << 20;
    settings.latency_ps = 12'000;
    settings.direction_switch_ps = 4'000;
    settings.outstanding = 4096;
    calls_and_phases_agree<hbm_slice>(settings);
}

BOOST_AUTO_TEST_CASE(the_tcm_answers_at_the_same_times) {
    tcm::config settings = bare<tcm>();
    settings.capacity = 1 << 16;
    settings.read_bandwidth = 40'000'000'000;
    settings.write_bandwidth = 20'000'000'000;
    settings.latency_ps = 3'000;
    settings.outstanding = 4096;
    calls_and_phases_agree<tcm>(settings);
}

BOOST_AUTO_TEST_CASE(a_request_to_an_idle_pseudo_channel_overtakes) {
    bench<hbm_slice> b(of_64_kib<hbm_slice>(), [](auto &self) {
        std::uint8_t data[256] = {};
        std::vector<tlm::tlm_generic_payload *> sent; // three bursts to channel 0 (8 ns each), one to channel 1
        for (std::uint64_t address : {0u, 2048u, 4096u, 256u}) {
            sent.push_back(&self.at.make(tlm::TLM_READ_COMMAND, address, data, sizeof data));
            self.at.begin(*sent.back());
        }
        const std::uint64_t expected[] = {8'000, 16'000, 24'000, 8'000};
        for (std::size_t i : {0u, 3u, 1u, 2u}) {
            BOOST_TEST(to_ps(self.at.finish(*sent[i])) == expected[i]);
            self.at.give_back(*sent[i]);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_full_target_holds_back_end_req_until_a_response_has_ended) {
    auto settings = of_64_kib<hbm_slice>();
    settings.outstanding = 2;
    bench<hbm_slice> b(settings, [](auto &self) {
        std::uint8_t data[256] = {};
        std::vector<tlm::tlm_generic_payload *> sent;
        std::vector<std::uint64_t> accepted;
        for (int i = 0; i < 5; i++) { // all to channel 0
            sent.push_back(&self.at.make(tlm::TLM_READ_COMMAND, static_cast<std::uint64_t>(i) * 2048, data, 256));
            self.at.begin(*sent.back());
            accepted.push_back(to_ps(sc_core::sc_time_stamp())); // the END_REQ of the request before
        }
        // Two fit; the third waits, open, for the first response at 8 ns, the fourth therefore begins then, ...
        BOOST_TEST((accepted == std::vector<std::uint64_t>{0, 0, 0, 8'000, 16'000}));
        for (auto *payload : sent) {
            self.at.finish(*payload);
            self.at.give_back(*payload);
        }
        BOOST_TEST(self.at_checker.most_in_flight() == 3u);
    });
}

BOOST_AUTO_TEST_CASE(a_slow_initiator_gets_one_response_after_the_other) {
    bench<tcm> b(of_64_kib<tcm>(), [](auto &self) {
        for (response_end ending : {response_end::updated, response_end::call}) {
            self.at.ending = ending;
            self.at.response_delay = sc_time(100, SC_NS);
            std::uint8_t data[64] = {};
            std::vector<tlm::tlm_generic_payload *> sent;
            for (int i = 0; i < 4; i++) {
                sent.push_back(&self.at.make(tlm::TLM_READ_COMMAND, 0, data, sizeof data));
                self.at.begin(*sent.back());
            }
            std::uint64_t before = 0;
            for (auto *payload : sent) {
                const std::uint64_t at = to_ps(self.at.finish(*payload));
                if (before) BOOST_TEST(at == before + 100'000);
                before = at;
                self.at.give_back(*payload);
            }
            sc_core::wait(sc_time(1, sc_core::SC_US));
        }
    });
}

BOOST_AUTO_TEST_CASE(an_annotated_request_is_served_at_its_time) {
    bench<tcm> b(of_64_kib<tcm>(), [](auto &self) {
        std::uint32_t word = 7;
        auto &payload = self.at.make(tlm::TLM_WRITE_COMMAND, 16, &word, 4);
        self.at.begin(payload, sc_time(50, SC_NS));
        BOOST_TEST(to_ps(self.at.finish(payload)) == 50'000 + tla_transfer_ps(4, 512'000'000'000));
        self.at.give_back(payload);
    });
}

BOOST_AUTO_TEST_CASE(a_target_warns_of_a_protocol_error_and_continues) {
    sc_core::sc_report_handler::set_actions("/tlmalloc/at/protocol", sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
    tcm memory("memory", of_64_kib<tcm>());
    initiator i("initiator");
    i.out.bind(memory.in);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    std::uint32_t word = 7;
    auto &payload = i.make(tlm::TLM_WRITE_COMMAND, 16, &word, 4);
    sc_time delay;
    const auto call = [&](tlm::tlm_phase phase) { return i.out->nb_transport_fw(payload, phase, delay); };
    BOOST_TEST(call(tlm::END_RESP) == tlm::TLM_ACCEPTED);   // nothing is open
    BOOST_TEST(call(tlm::BEGIN_RESP) == tlm::TLM_ACCEPTED); // not an initiator's
    sc_core::sc_start(sc_time(1, sc_core::SC_US));
    BOOST_TEST(sc_core::sc_report_handler::get_count("/tlmalloc/at/protocol", sc_core::SC_WARNING) == 2);
    BOOST_TEST(memory.get_statistics().writes == 0u);
    i.give_back(payload);
}
