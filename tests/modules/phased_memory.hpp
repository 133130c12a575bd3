// Somebody else's memory, which is approximately timed only: it answers in any of the ways of the base protocol, and is
// as strict about its requests as a DRAM controller.
#ifndef TLMALLOC_TESTS_MODULES_PHASED_MEMORY_HPP
#define TLMALLOC_TESTS_MODULES_PHASED_MEMORY_HPP

#include "model/modules/kit/payload.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_target_socket.h>
#include <vector>

namespace tlmalloc::testing {

class phased_memory : public sc_core::sc_module {
  public:
    enum class manner {
        calls,             // END_REQ and BEGIN_RESP as calls
        request_returned,  // END_REQ as the return value
        response_returned, // BEGIN_RESP as the return value
        completed,         // TLM_COMPLETED to BEGIN_REQ
        no_end_request,    // BEGIN_RESP without END_REQ
        mixed              // one of these at random
    };
    struct settings {
        manner how = manner::calls;
        std::uint64_t size = 1 << 18;
        bool naturally_aligned = true; // else a fault
        unsigned largest = 64, smallest = 1;
        bool byte_enables = true; // else they are a fault
        bool deaf = false;        // waits forever for END_RESP after TLM_COMPLETED to BEGIN_RESP
        sc_core::sc_time accept{1, sc_core::SC_NS}, latency{20, sc_core::SC_NS};
        unsigned spread = 3; // responses take up to as many accept times longer, at random, and are annotated
        bool late = false;   // requests are served when they are answered, in whatever order that is
        std::uint64_t broken = UINT64_MAX;     // an access of this byte is answered with TLM_GENERIC_ERROR_RESPONSE
        std::uint64_t unreadable = UINT64_MAX; // and a read of this one
        std::uint64_t unhinted = UINT64_MAX;   // one of this byte gets no DMI hint
    };

    tlm_utils::simple_target_socket<phased_memory> in{"in"};
    std::vector<std::uint8_t> bytes;
    std::vector<std::string> faults;           // what a request was not to be
    std::uint64_t requests = 0, peak = 0;      // all, and without an answer at most
    std::set<const void *> payloads;           // all that have come
    std::vector<const void *> seen_extensions; // of the latest request
    std::function<void(const tlm::tlm_generic_payload &)> on_request;

    phased_memory(sc_core::sc_module_name name, const settings &how) : sc_module(name), bytes(how.size), how_(how) {
        in.register_nb_transport_fw(this, &phased_memory::nb_transport_fw);
        in.register_transport_dbg(this, &phased_memory::transport_dbg);
        in.register_get_direct_mem_ptr(this, &phased_memory::get_direct_mem_ptr);
        TLMALLOC_HAS_PROCESS(phased_memory);
        SC_METHOD(advance);
        sensitive << changed_;
        dont_initialize();
    }

    void withdraw(std::uint64_t first, std::uint64_t last) { in->invalidate_direct_mem_ptr(first, last); }

  private:
    using payload_type = tlm::tlm_generic_payload;

    void check(const payload_type &p) {
        const std::uint64_t address = p.get_address(), length = p.get_data_length();
        const auto fault = [&](const char *what) {
            faults.push_back(std::string(what) + " at " + std::to_string(address) + ", " + std::to_string(length));
        };
        if (!p.has_mm() || p.get_ref_count() < 1) fault("no memory manager");
        if (p.get_response_status() != tlm::TLM_INCOMPLETE_RESPONSE || p.is_dmi_allowed()) fault("used attributes");
        if (p.get_streaming_width() < length) fault("streaming");
        if (length > how_.largest) fault("too long");
        if (!how_.byte_enables && p.get_byte_enable_ptr()) fault("byte enables");
        if (length % how_.smallest || address % how_.smallest) fault("a part of a burst");
        if (how_.naturally_aligned && ((length & (length - 1)) || address % length)) fault("not aligned");
        if (address / how_.largest != (address + length - 1) / how_.largest) fault("over a boundary");
        if (!p.is_read() && !p.is_write()) fault("neither a read nor a write");
        if (address >= how_.size || length > how_.size - address) fault("past the end: a crash");
    }

    void arrive(payload_type &p, const sc_core::sc_time &delay) {
        requests++;
        payloads.insert(&p);
        if (on_request) on_request(p);
        peak = std::max(peak, ++unanswered_);
        check(p);
        if (sc_core::sc_time_stamp() + delay < accepting_until_)
            faults.push_back("BEGIN_REQ before the time of END_REQ");
    }

    void serve(payload_type &p) {
        seen_extensions.clear();
        for (unsigned i = 0; i < tlm::max_num_extensions(); i++)
            if (p.get_extension(i)) seen_extensions.push_back(p.get_extension(i));
        const std::uint64_t address = p.get_address();
        const auto touches = [&](std::uint64_t byte) {
            return byte >= address && byte - address < p.get_data_length();
        };
        if (touches(how_.broken) || (p.is_read() && touches(how_.unreadable))) {
            p.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
            return;
        }
        p.set_response_status(check_payload(p, how_.size));
        if (p.is_response_ok()) copy_payload(p, bytes.data());
        p.set_dmi_allowed(p.is_response_ok() && !touches(how_.unhinted));
    }

    // END_REQ is at this time.
    void accept_until(const sc_core::sc_time &delay) { accepting_until_ = sc_core::sc_time_stamp() + delay; }

    tlm::tlm_sync_enum nb_transport_fw(payload_type &p, tlm::tlm_phase &phase, sc_core::sc_time &delay) {
        if (phase == tlm::END_RESP) {
            end(p, delay);
            return tlm::TLM_COMPLETED;
        }
        if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
        manner how = how_.how == manner::mixed ? static_cast<manner>(random_() % 5) : how_.how;
        const bool returned = how == manner::completed || how == manner::response_returned;
        if (returned && (open_ || !due_.empty() || coming_ > 0)) how = manner::calls; // one response at a time
        arrive(p, delay);
        if (!how_.late || returned) serve(p);
        if (how == manner::completed) {
            delay += how_.latency;
            unanswered_--;
            return tlm::TLM_COMPLETED;
        }
        p.acquire();
        if (how == manner::response_returned) {
            open_ = &p;
            unanswered_--;
            phase = tlm::BEGIN_RESP;
            delay += how_.latency;
            return tlm::TLM_UPDATED;
        }
        coming_++;
        const sc_core::sc_time latency =
            delay + how_.latency + static_cast<double>(random_() % (how_.spread + 1)) * how_.accept;
        at(latency, [this, &p] {
            coming_--;
            if (how_.late) serve(p);
            due_.push_back(&p);
            respond();
        });
        if (how == manner::no_end_request) return tlm::TLM_ACCEPTED;
        if (how == manner::request_returned) {
            phase = tlm::END_REQ;
            delay += how_.accept;
            accept_until(delay);
            return tlm::TLM_UPDATED;
        }
        at(delay + how_.accept, [this, &p] {
            tlm::tlm_phase end = tlm::END_REQ;
            sc_core::sc_time t = static_cast<double>(random_() % (how_.spread > 0 ? 3 : 1)) * how_.accept;
            accept_until(t);
            in->nb_transport_bw(p, end, t);
        });
        return tlm::TLM_ACCEPTED;
    }

    void respond() {
        if (open_ || due_.empty()) return;
        open_ = due_.front();
        due_.pop_front();
        unanswered_--;
        tlm::tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay = static_cast<double>(random_() % (how_.spread > 0 ? 3 : 1)) * how_.accept;
        const tlm::tlm_sync_enum answer = in->nb_transport_bw(*open_, phase, delay);
        if (answer == tlm::TLM_UPDATED || (answer == tlm::TLM_COMPLETED && !how_.deaf)) end(*open_, delay);
    }

    void end(payload_type &p, const sc_core::sc_time &delay) {
        if (open_ != &p) faults.push_back("END_RESP for a response that is not open");
        at(delay, [this, &p] {
            open_ = nullptr;
            p.release();
            respond();
        });
    }

    unsigned transport_dbg(payload_type &p) {
        check_debug(p);
        return debug_copy(p, bytes.data(), how_.size);
    }
    void check_debug(const payload_type &p) {
        if (p.get_address() / how_.largest != (p.get_address() + p.get_data_length() - 1) / how_.largest)
            faults.push_back("a debug access over a boundary");
        if (p.get_address() >= how_.size) faults.push_back("a debug access past the end: a crash");
    }
    bool get_direct_mem_ptr(payload_type &, tlm::tlm_dmi &dmi) {
        dmi.set_dmi_ptr(bytes.data());
        dmi.set_start_address(0);
        dmi.set_end_address(how_.size - 1);
        dmi.allow_read_write();
        dmi.set_read_latency(how_.latency);
        dmi.set_write_latency(how_.latency);
        return true;
    }

    void at(const sc_core::sc_time &delay, std::function<void()> what) {
        agenda_.emplace(sc_core::sc_time_stamp() + delay, std::move(what));
        changed_.notify(delay);
    }
    void advance() {
        const sc_core::sc_time now = sc_core::sc_time_stamp();
        while (!agenda_.empty() && agenda_.begin()->first <= now) {
            const std::function<void()> what = agenda_.begin()->second;
            agenda_.erase(agenda_.begin());
            what();
        }
        if (!agenda_.empty()) changed_.notify(agenda_.begin()->first - now);
    }

    const settings how_;
    std::mt19937 random_{11};
    std::multimap<sc_core::sc_time, std::function<void()>> agenda_;
    sc_core::sc_event changed_;
    std::deque<payload_type *> due_;
    payload_type *open_ = nullptr; // response
    unsigned coming_ = 0;
    std::uint64_t unanswered_ = 0;
    sc_core::sc_time accepting_until_;
};

} // namespace tlmalloc::testing
#endif
