// An initiator that makes random accesses to a range of bytes and compares every one with a plain array: byte enables,
// streaming, odd sizes, 512 bytes and 4 KiB, across every boundary, past the end; blocking, or several in four phases.
// In between it looks at and changes the same bytes by debug accesses and, where they are granted, by pointers.
#ifndef TLMALLOC_TESTS_MODULES_RANDOM_ACCESSES_HPP
#define TLMALLOC_TESTS_MODULES_RANDOM_ACCESSES_HPP

#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <sstream>
#include <vector>

namespace tlmalloc::testing {

class random_accesses : public sc_core::sc_module {
  public:
    struct settings {
        std::uint64_t base = 0, size = 1 << 16;
        bool bounded = false; // what lies behind is no memory: tried, too, and must be refused
        std::uint64_t count = 20'000;
        coding style = coding::loosely_timed;
        unsigned together = 6; // in four phases
        unsigned seed = 1;
        bool debug = true; // the memory takes debug accesses
    };

    initiator from{"from"};
    base_protocol_checker checker{"checker"};

    random_accesses(sc_core::sc_module_name name, const settings &how)
        : sc_module(name), how_(how), random_(how.seed), expected_(how.size) {
        from.style = how.style;
        from.out.bind(checker.in);
        from.on_invalidate = [this](std::uint64_t first, std::uint64_t last) {
            if (first <= direct_.get_end_address() && last >= direct_.get_start_address()) has_pointer_ = false;
        };
        TLMALLOC_HAS_PROCESS(random_accesses);
        SC_THREAD(main);
    }

    // After the simulation.
    void check_all_went_well() const {
        BOOST_TEST_INFO("seed " << how_.seed);
        BOOST_TEST(mismatch_ == "");
        BOOST_TEST_INFO("seed " << how_.seed);
        BOOST_TEST(checker.report() == "");
        BOOST_TEST_INFO("seed " << how_.seed);
        BOOST_TEST(done_ == how_.count);
        BOOST_TEST(from.in_use() == 0u);
        if (how_.bounded) BOOST_TEST(refused_ > how_.count / 100);
    }

    sc_core::sc_time ended() const { return ended_; }             // when the last access was over
    std::uint64_t debug_accesses() const { return debugged_; }    // that were right
    std::uint64_t direct_accesses() const { return by_pointer_; } // by a pointer that was granted

  private:
    struct access {
        tlm::tlm_command command;
        std::uint64_t offset;
        std::vector<std::uint8_t> data, enables;
        unsigned width;
    };

    std::uint64_t below(std::uint64_t n) { return random_() % n; }

    std::uint64_t random_length() {
        switch (below(16)) {
        case 0:
            return 4096;
        case 1:
            return 512;
        case 2:
        case 3:
            return 1 + below(900);
        case 4:
            return std::uint64_t{1} << below(8);
        default:
            return 1 + below(24);
        }
    }

    access random_access() {
        access a;
        a.command = below(32) == 0 ? tlm::TLM_IGNORE_COMMAND
                    : below(2)     ? tlm::TLM_READ_COMMAND
                                   : tlm::TLM_WRITE_COMMAND;
        const std::uint64_t length = random_length();
        a.data.resize(length);
        for (std::uint8_t &byte : a.data)
            byte = static_cast<std::uint8_t>(random_());
        a.offset = below(how_.size - length + 1);
        if (how_.bounded && below(8) == 0) a.offset = how_.size - length + below(length + 9); // around the end
        if (below(2)) a.offset = a.offset / 64 * 64;
        a.width = static_cast<unsigned>(length);
        if (below(3) == 0) {
            a.enables.resize(1 + below(below(2) ? 9 : length + 3));
            for (std::uint8_t &e : a.enables)
                e = below(2) ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED;
        }
        // Few passes of long accesses, or there would be no end of requests.
        if (below(5) == 0)
            a.width = static_cast<unsigned>(length < 64 ? 1 + below(length + 3) : length / 3 + below(length));
        return a;
    }

    static const char *name_of(tlm::tlm_command command) {
        return command == tlm::TLM_READ_COMMAND ? "read" : command == tlm::TLM_WRITE_COMMAND ? "write" : "ignore";
    }

    bool legal(const access &a) const {
        const std::uint64_t span = std::min<std::uint64_t>(a.width, a.data.size());
        return a.offset < how_.size && span <= how_.size - a.offset;
    }

    tlm::tlm_generic_payload &make(access &a) {
        tlm::tlm_generic_payload &payload = from.make(a.command, how_.base + a.offset, a.data.data(), a.data.size());
        payload.set_streaming_width(a.width);
        if (!a.enables.empty()) {
            payload.set_byte_enable_ptr(a.enables.data());
            payload.set_byte_enable_length(static_cast<unsigned>(a.enables.size()));
        }
        return payload;
    }

    void check(const access &sent, const access &got, tlm::tlm_response_status status) {
        std::vector<std::uint8_t> data = sent.data;
        if (legal(sent)) {
            for (std::size_t i = 0; i < data.size() && sent.command != tlm::TLM_IGNORE_COMMAND; i++) {
                if (!sent.enables.empty() && !sent.enables[i % sent.enables.size()]) continue;
                std::uint8_t &byte = expected_[sent.offset + i % sent.width];
                (sent.command == tlm::TLM_READ_COMMAND ? data[i] : byte) =
                    sent.command == tlm::TLM_READ_COMMAND ? byte : data[i];
            }
        } else {
            refused_++;
        }
        const tlm::tlm_response_status due = legal(sent) ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE;
        if (mismatch_.empty() && (status != due || data != got.data)) {
            std::ostringstream text;
            text << "access " << done_ << " (" << name_of(sent.command) << " at " << sent.offset << ", " << data.size()
                 << " bytes, " << sent.enables.size() << " enables, width " << sent.width << "): status " << status
                 << (data != got.data ? ", other bytes" : "");
            mismatch_ = text.str();
        }
        done_++;
    }

    // An access that takes no time, while none of this initiator's is under way.
    void look_around() {
        const std::uint64_t what = below(8);
        if (what > 1 || (what == 0 && !how_.debug)) return;
        const std::uint64_t length = 1 + below(300), offset = below(how_.size - length + 1);
        std::vector<std::uint8_t> bytes(length);
        for (std::uint8_t &byte : bytes)
            byte = static_cast<std::uint8_t>(random_());
        const bool writes = below(2) > 0;
        tlm::tlm_generic_payload &payload = from.make(writes ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                                      how_.base + offset, bytes.data(), length);
        const bool made = what == 0 ? debug(payload) : direct(payload);
        from.give_back(payload);
        if (!made) return;
        const auto own = expected_.begin() + static_cast<std::ptrdiff_t>(offset);
        if (writes)
            std::copy(bytes.begin(), bytes.end(), own);
        else if (!std::equal(bytes.begin(), bytes.end(), own))
            note(what == 0 ? "a debug access reads other bytes" : "a pointer leads to other bytes");
    }
    bool debug(tlm::tlm_generic_payload &payload) {
        if (from.out->transport_dbg(payload) != payload.get_data_length()) note("a debug access is cut");
        debugged_++;
        return true;
    }
    // By the pointer that the initiator still has, or by one that it asks for. False when there is none to all bytes.
    bool direct(tlm::tlm_generic_payload &payload) {
        const std::uint64_t first = payload.get_address(), last = first + (payload.get_data_length() - 1);
        if (!has_pointer_ || first < direct_.get_start_address() || last > direct_.get_end_address()) {
            direct_.init();
            has_pointer_ = from.out->get_direct_mem_ptr(payload, direct_) && direct_.is_read_write_allowed();
            if (has_pointer_ && (first < direct_.get_start_address() || first > direct_.get_end_address()))
                note("a pointer to other bytes than were asked for");
            if (has_pointer_ && how_.bounded && direct_.get_end_address() - how_.base >= how_.size)
                note("a pointer past the end");
        }
        if (!has_pointer_ || first < direct_.get_start_address() || last > direct_.get_end_address()) return false;
        std::uint8_t *const there = direct_.get_dmi_ptr() + (first - direct_.get_start_address());
        if (payload.is_write())
            std::copy_n(payload.get_data_ptr(), payload.get_data_length(), there);
        else
            std::copy_n(there, payload.get_data_length(), payload.get_data_ptr());
        by_pointer_++;
        return true;
    }
    void note(const char *what) {
        if (mismatch_.empty()) mismatch_ = "after access " + std::to_string(done_) + ": " + what;
    }

    void main() {
        sc_core::sc_time ahead;
        while (done_ < how_.count) {
            look_around();
            if (how_.style == coding::approximately_timed) {
                four_phases();
                continue;
            }
            access a = random_access();
            const access sent = a;
            tlm::tlm_generic_payload &payload = make(a);
            from.out->b_transport(payload, ahead);
            check(sent, a, payload.get_response_status());
            from.give_back(payload);
            if (below(4) == 0) ahead += sc_core::sc_time(static_cast<double>(below(30)), sc_core::SC_NS);
            if (ahead > sc_core::sc_time(1, sc_core::SC_US)) {
                sc_core::wait(ahead);
                ahead = sc_core::SC_ZERO_TIME;
            }
        }
        ended_ = sc_core::sc_time_stamp() + ahead;
    }

    // Requests of one initiator to the same bytes keep their order, so the plain array follows in that order.
    void four_phases() {
        from.ending = static_cast<response_end>(below(3));
        from.response_delay = sc_core::sc_time(static_cast<double>(below(3)), sc_core::SC_NS);
        std::vector<access> all(std::min<std::uint64_t>(how_.together, how_.count - done_));
        for (access &a : all)
            a = random_access();
        const std::vector<access> sent = all;
        std::vector<tlm::tlm_generic_payload *> payloads;
        for (access &a : all) {
            payloads.push_back(&make(a));
            from.begin(*payloads.back());
        }
        for (tlm::tlm_generic_payload *payload : payloads)
            from.finish(*payload);
        for (std::size_t i = 0; i < all.size(); i++) {
            check(sent[i], all[i], payloads[i]->get_response_status());
            from.give_back(*payloads[i]);
        }
    }

    const settings how_;
    std::mt19937_64 random_;
    std::vector<std::uint8_t> expected_;
    std::string mismatch_;
    sc_core::sc_time ended_;
    std::uint64_t done_ = 0, refused_ = 0, debugged_ = 0, by_pointer_ = 0;
    tlm::tlm_dmi direct_; // the latest answer
    bool has_pointer_ = false;
};

} // namespace tlmalloc::testing
#endif
