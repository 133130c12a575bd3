// What tests of MMUs beside the plain event model share: accesses from threads to pages of a small memory, made by the
// modules and by the model.
#ifndef TLMALLOC_TESTS_MODULES_MMU_SCENARIOS_HPP
#define TLMALLOC_TESTS_MODULES_MMU_SCENARIOS_HPP

#include "bare.hpp"
#include "plain_mmu.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <cstdlib>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

namespace scenarios {

using namespace tlmalloc;
using namespace test_initiator;

constexpr std::uint64_t page = plain::mmu::page, burst = 256, channel_bandwidth = 32'000'000'000;
constexpr unsigned channel_count = 4;

// One initiator each, which waits until its time; issued_ps: after the scenario's start.
struct memory_access {
    std::uint64_t va, nbytes, issued_ps;
    bool write;
    std::uint32_t asid = 0;
    std::uint64_t end_ps = 0;
    tlm::tlm_response_status status = tlm::TLM_INCOMPLETE_RESPONSE;
    bytes data{};
};

inline std::uint8_t fill_byte(std::uint64_t pa) {
    return static_cast<std::uint8_t>(pa * 31 + pa / page * 7 + pa / 251);
}
inline void give_data(memory_access &a, std::size_t number) {
    a.data.assign(a.nbytes, a.write ? static_cast<std::uint8_t>(number * 2 + 1) : 0);
}

// The seeds of a test: TLMALLOC_SEED alone, or as the first of TLMALLOC_SCENARIOS.
struct range_of_seeds {
    explicit range_of_seeds(std::uint64_t most) : many(most) {
        const char *const seed = std::getenv("TLMALLOC_SEED"), *const count = std::getenv("TLMALLOC_SCENARIOS");
        if (seed) first = std::strtoull(seed, nullptr, 0);
        if (seed || count) many = count ? std::strtoull(count, nullptr, 0) : 1;
    }
    std::uint64_t first = 1, many;
};

// --- the modules -----------------------------------------------------------------------------------------------------

inline pe_mmu::config mmu_config(const plain::mmu::settings &how, std::uint64_t level_ps) {
    pe_mmu::config c = bare<pe_mmu>();
    c.page_size = page;
    c.va_bits = 48;
    c.walk = how.ideal ? TLA_WALK_IDEAL : TLA_WALK_FLAT;
    c.overhead_ps = how.overhead_ps;
    c.tlb_l1 = {how.tlb_entries, 0, how.tlb_ps, TLA_REPLACE_LRU};
    c.tlb_l2 = {how.tlb2_entries, 0, how.tlb2_ps, TLA_REPLACE_LRU};
    c.walkers = {how.walkers, how.merge_slots, 0, false, how.hit_under_miss, level_ps};
    c.ranges = how.ranges;
    return c;
}

inline hbm_slice::config slice_config(std::uint64_t capacity, std::uint64_t latency_ps) {
    hbm_slice::config c = bare<hbm_slice>();
    c.capacity = capacity;
    c.pseudo_channels = channel_count;
    c.pseudo_channel_bandwidth = channel_bandwidth;
    c.latency_ps = latency_ps;
    return c;
}

inline void fill_memory(pe_mmu &of, std::uint64_t nbytes) {
    bytes all(nbytes);
    for (std::size_t i = 0; i < all.size(); i++)
        all[i] = fill_byte(i);
    tlm::tlm_generic_payload payload;
    payload.set_write();
    payload.set_data_ptr(all.data());
    payload.set_data_length(static_cast<unsigned>(all.size()));
    BOOST_REQUIRE_EQUAL(of.out->transport_dbg(payload), all.size());
}

inline tlm::tlm_response_status move(tlm::tlm_fw_transport_if<> &to, tlm::tlm_command what, std::uint64_t address,
                                     std::uint8_t *data, std::size_t nbytes, sc_core::sc_time &delay,
                                     requester *who = nullptr) {
    tlm::tlm_generic_payload payload;
    payload.set_command(what);
    payload.set_address(address);
    payload.set_data_ptr(data);
    payload.set_data_length(static_cast<unsigned>(nbytes));
    payload.set_streaming_width(static_cast<unsigned>(nbytes));
    payload.set_extension(who);
    to.b_transport(payload, delay);
    payload.clear_extension(who);
    return payload.get_response_status();
}

inline void make(tlm::tlm_fw_transport_if<> &to, memory_access &a, std::size_t number) {
    give_data(a, number);
    requester who(a.asid, 0);
    sc_core::sc_time delay;
    a.status =
        move(to, a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, a.va, a.data.data(), a.nbytes, delay, &who);
    a.end_ps = local_ps(delay);
}

inline void write_command(tlm::tlm_fw_transport_if<> &to, unsigned port, const tla_command &command,
                          sc_core::sc_time &delay) {
    bytes descriptor(TLA_COMMAND_MAX_BYTES);
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, descriptor.data(), descriptor.size(), &length), TLA_OK);
    BOOST_REQUIRE_EQUAL(move(to, tlm::TLM_WRITE_COMMAND, port * TLA_PORT_BYTES, descriptor.data(), length, delay),
                        tlm::TLM_OK_RESPONSE);
}
inline tla_completion await_completion(tlm::tlm_fw_transport_if<> &to, unsigned port, sc_core::sc_time &delay) {
    std::uint8_t answer[TLA_COMPLETION_BYTES];
    BOOST_REQUIRE_EQUAL(
        move(to, tlm::TLM_READ_COMMAND, port * TLA_PORT_BYTES + TLA_PORT_COMPLETION, answer, sizeof answer, delay),
        tlm::TLM_OK_RESPONSE);
    tla_completion done{};
    BOOST_REQUIRE_EQUAL(tla_completion_decode(answer, &done), TLA_OK);
    return done;
}

// Scenario i begins at start_of(i), on modules of its own.
constexpr std::uint64_t first_start_ps = 1'000'000'000, apart_ps = 200'000'000;
inline std::uint64_t start_of(std::size_t number) {
    return first_start_ps + number * apart_ps;
}

// One thread does act(i, its number) for the item of that number in each scenario i, at the item's time.
template <typename Scenario, typename Items, typename Act>
void spawn_threads(std::vector<Scenario> &all, const char *kind, Items items, Act act) {
    std::size_t count = 0;
    for (Scenario &s : all)
        count = std::max(count, (s.*items).size());
    for (std::size_t thread = count; thread-- > 0;) { // made in an order that means nothing
        const std::string digits = std::to_string(thread);
        const std::string name = kind + std::string(3 - digits.size(), '0') + digits; // texts are ordered as numbers
        sc_core::sc_spawn(
            [&all, items, act, thread] {
                for (std::size_t i = 0; i < all.size(); i++) {
                    if (thread >= (all[i].*items).size()) continue;
                    const std::uint64_t at_ps = start_of(i) + (all[i].*items)[thread].issued_ps;
                    sc_core::wait(from_ps(at_ps) - sc_core::sc_time_stamp());
                    act(i, thread);
                    BOOST_REQUIRE_LT(to_ps(sc_core::sc_time_stamp()), start_of(i + 1));
                }
            },
            name.c_str());
    }
}

// --- the plain model -------------------------------------------------------------------------------------------------

// Bytes behind channels.
class plain_memory {
  public:
    plain_memory(unsigned resource, std::uint64_t nbytes, plain::picoseconds latency)
        : timing{resource, burst, channel_bandwidth, latency, std::vector<plain::server>(channel_count)} {
        for (std::uint64_t i = 0; i < nbytes; i++)
            bytes_.push_back(fill_byte(i));
    }

    // Does an access that has been translated, and says when it ends.
    void serve(plain::events &e, memory_access &a, plain::picoseconds at, const plain::mmu::translations &to) {
        a.end_ps = at;
        a.status = tlm::TLM_OK_RESPONSE;
        for (const plain::translation &t : to) {
            if (t.permits(a.write)) continue;
            a.status = t.mapped ? tlm::TLM_COMMAND_ERROR_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
            return;
        }
        for (std::uint64_t done = 0; done < a.nbytes;) {
            const std::uint64_t va = a.va + done, part = std::min(a.nbytes - done, page - va % page);
            const std::uint64_t pa = to[va / page - a.va / page].pa + va % page;
            e.at(at + timing.latency, timing.resource, 0, [=, &a](plain::picoseconds) {
                for (std::uint64_t i = 0; i < part; i++)
                    (a.write ? bytes_[pa + i] : a.data[done + i]) = a.write ? a.data[done + i] : bytes_[pa + i];
            });
            timing.access(e, a.write, pa, part, at,
                          [&a](plain::picoseconds end) { a.end_ps = std::max(a.end_ps, end); });
            done += part;
        }
    }

    plain::channels timing;

  private:
    bytes bytes_;
};

// --- both ------------------------------------------------------------------------------------------------------------

// The first access that differs; empty where all agree.
inline std::string difference(const std::vector<memory_access> &ours, const std::vector<memory_access> &theirs,
                              std::uint64_t start_ps) {
    std::ostringstream text;
    for (std::size_t i = 0; i < ours.size(); i++) {
        const memory_access &a = ours[i], &b = theirs[i];
        if (a.end_ps == b.end_ps && a.status == b.status && (a.status != tlm::TLM_OK_RESPONSE || a.data == b.data))
            continue;
        text << "access " << i << " ended at " << a.end_ps - start_ps << " with " << a.status << ", should "
             << b.end_ps - start_ps << " with " << b.status << (a.data == b.data ? "" : ", other bytes") << "\n";
        break;
    }
    return text.str();
}

} // namespace scenarios
#endif
