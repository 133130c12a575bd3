// The tools of the battery's rules (conformance.hpp): the target's description, one rule's simulation, and the calls
// that a rule makes.
#ifndef TLMALLOC_TESTING_CONFORMANCE_PROBE_HPP
#define TLMALLOC_TESTING_CONFORMANCE_PROBE_HPP

#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sysc/kernel/sc_dynamic_processes.h> // sc_spawn
#include <vector>

namespace tlmalloc::testing {

// The target's description for the battery, which makes a new target for each rule.
class conformance_target {
  public:
    struct range {
        std::uint64_t first, last; // inclusive
    };

    virtual ~conformance_target() = default;

    // Binds the initiator to the target, which this function or the constructor builds.
    virtual void bind(tlm::tlm_initiator_socket<> &initiator) = 0;

    // Makes the addresses legal, for example by a mapping. The battery calls it in a thread before the rule.
    virtual void prepare() {}

    // Makes the target withdraw DMI, as by freeing or unmapping. Returns the smallest range that the target must
    // withdraw. The battery calls it in a thread.
    virtual std::optional<range> withdraw_dmi() { return std::nullopt; }

    range memory{0, 0};   // at least 512 bytes that any access may touch; 256 if the battery only reads
    bool writable = true; // by transport; otherwise the battery only reads
    bool bounded = true;  // the 64 bytes after `memory` are illegal, and so are the last 64 of all addresses
};

using make_target = std::function<std::unique_ptr<conformance_target>()>;

enum class outcome { passed, failed, not_applicable };

struct verdict {
    outcome result;
    std::string text; // the observation, or why the rule does not apply
};

namespace conformance {

struct failure {
    std::string text;
};
struct not_applicable {
    std::string text;
};

inline bool is_error(tlm::tlm_response_status status) {
    return status < tlm::TLM_INCOMPLETE_RESPONSE;
}

inline void require(bool holds, const std::string &what) {
    if (!holds) throw failure{what};
}

DECLARE_EXTENDED_PHASE(conformance_unknown_phase);

struct unknown_extension : tlm::tlm_extension<unknown_extension> {
    tlm::tlm_extension_base *clone() const override { return new unknown_extension; }
    void copy_from(const tlm::tlm_extension_base &) override {}
};

using bytes = std::vector<std::uint8_t>;

inline std::vector<const void *> extensions(const tlm::tlm_generic_payload &payload) {
    std::vector<const void *> all;
    for (unsigned i = 0; i < tlm::max_num_extensions(); i++)
        all.push_back(payload.get_extension(i));
    return all;
}

// One rule's simulation, initiator -> checker -> target, and the calls that a rule makes.
class probe : public sc_core::sc_module {
  public:
    initiator from{"from"};
    base_protocol_checker checker{"checker"};
    std::unique_ptr<conformance_target> target;
    std::string verdict_text = "the simulation ended before the check: an access never returned";
    outcome verdict_result = outcome::failed;

    probe(sc_core::sc_module_name name, coding style, const make_target &make, void (*rule)(probe &))
        : sc_module(name), target(make()), rule_(rule) {
        from.style = style;
        from.out.bind(checker.in);
        target->bind(checker.out);
        TLMALLOC_HAS_PROCESS(probe);
        SC_THREAD(main);
    }

    std::uint64_t first() const { return target->memory.first; }
    std::uint64_t last() const { return target->memory.last; }
    bool lt() const { return from.style == coding::loosely_timed; }

    // An access that may fail.
    struct request {
        tlm::tlm_command command = tlm::TLM_READ_COMMAND;
        std::uint64_t address = 0;
        bytes data;
        std::optional<unsigned> length{}, width{}; // if they differ from those of `data`
        std::optional<bytes> enables{};
        sc_core::sc_time delay{};
    };

    // Makes the access and waits for its end.
    tlm::tlm_response_status send(request &r) {
        tlm::tlm_generic_payload &payload = make(r);
        transport(payload, r.delay);
        const tlm::tlm_response_status status = payload.get_response_status();
        from.give_back(payload);
        return status;
    }

    // Makes an access that begins `delay` from now, and waits for its end.
    void transport(tlm::tlm_generic_payload &payload, sc_core::sc_time delay = {}) {
        from.transport(payload, delay);
        sc_core::wait(delay);
    }

    // Returns a payload for the request, which the caller gives back. A write to a read-only target does not apply.
    tlm::tlm_generic_payload &make(request &r) {
        if (r.command == tlm::TLM_WRITE_COMMAND && !target->writable) throw not_applicable{"the target is read only"};
        tlm::tlm_generic_payload &payload = from.make(r.command, r.address, r.data.data(), r.data.size());
        if (r.length) payload.set_data_length(*r.length);
        payload.set_streaming_width(r.width ? *r.width : payload.get_data_length());
        if (r.enables) {
            payload.set_byte_enable_ptr(r.enables->data());
            payload.set_byte_enable_length(static_cast<unsigned>(r.enables->size()));
        }
        return payload;
    }

    // Make a plain access, which must succeed; a failure is a failure of the rule.
    bytes read(std::uint64_t address, std::size_t length) {
        request r{tlm::TLM_READ_COMMAND, address, bytes(length, 0xa5)};
        require(send(r) == tlm::TLM_OK_RESPONSE, "a plain read of legal addresses fails");
        return r.data;
    }

    void write(std::uint64_t address, const bytes &data) {
        request r{tlm::TLM_WRITE_COMMAND, address, data};
        require(send(r) == tlm::TLM_OK_RESPONSE, "a plain write to legal addresses fails");
    }

    // Makes a debug access to the size of `data`. Returns the number of moved bytes.
    unsigned debug(tlm::tlm_command command, std::uint64_t address, bytes &data) {
        request r{tlm::TLM_READ_COMMAND, address, {}};
        tlm::tlm_generic_payload &payload = make(r);
        payload.set_command(command);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
        const unsigned moved = from.out->transport_dbg(payload);
        from.give_back(payload);
        return moved;
    }

    // Asks for a region that contains the address. Returns whether the target grants it.
    bool dmi(tlm::tlm_command command, std::uint64_t address, tlm::tlm_dmi &data) {
        request r{tlm::TLM_READ_COMMAND, address, {}};
        tlm::tlm_generic_payload &payload = make(r);
        payload.set_command(command);
        const bool granted = from.out->get_direct_mem_ptr(payload, data);
        from.give_back(payload);
        return granted;
    }

    // Returns a region that the target grants for the address. Without a grant, the rule does not apply.
    tlm::tlm_dmi granted(std::uint64_t address) {
        tlm::tlm_dmi data;
        if (!dmi(tlm::TLM_READ_COMMAND, address, data)) throw not_applicable{"DMI is not granted"};
        return data;
    }

    // Invalid requests; send each request once at most.
    std::vector<request> bad_requests(tlm::tlm_command command) {
        const bytes data(8, 0x5a);
        std::vector<request> all;
        all.push_back({command, first(), data, 0u, 8u});          // no length
        all.push_back({command, first(), data, {}, 0u});          // no streaming width
        all.push_back({command, first(), data, {}, {}, bytes()}); // in send_bad(): a pointer, no length
        if (target->bounded) {
            all.push_back({command, last() - 3, data});                           // runs past the end
            if (last() != UINT64_MAX) all.push_back({command, last() + 1, data}); // begins after the end
            all.push_back({command, UINT64_MAX - 3, data});                       // wraps
        }
        return all;
    }

    // Sends a request that may be invalid: empty enables become a pointer without a length.
    tlm::tlm_response_status send_bad(request &r) {
        if (!r.enables || !r.enables->empty()) return send(r);
        static std::uint8_t enable = TLM_BYTE_ENABLED;
        tlm::tlm_generic_payload &payload = make(r);
        payload.set_byte_enable_ptr(&enable);
        payload.set_byte_enable_length(0);
        transport(payload);
        const tlm::tlm_response_status status = payload.get_response_status();
        from.give_back(payload);
        return status;
    }

    bytes both_ends() {
        bytes result = read(first(), 64), end = read(last() - 63, 64);
        result.insert(result.end(), end.begin(), end.end());
        return result;
    }

    // Makes `count` accesses of 32 bytes, all outstanding together (approximately timed). Writes different data to
    // different places if the target is writable, then reads. Each access must complete, with the right data.
    void many(unsigned count) {
        for (const tlm::tlm_command command : {tlm::TLM_WRITE_COMMAND, tlm::TLM_READ_COMMAND}) {
            if (command == tlm::TLM_WRITE_COMMAND && !target->writable) continue;
            std::vector<bytes> data(count);
            std::vector<tlm::tlm_generic_payload *> sent;
            for (unsigned i = 0; i < count; i++) {
                data[i] = command == tlm::TLM_WRITE_COMMAND ? pattern(i) : bytes(32, 0xa5);
                sent.push_back(&from.make(command, place(i), data[i].data(), 32));
                from.begin(*sent.back());
            }
            for (unsigned i = 0; i < count; i++) {
                from.finish(*sent[i]);
                require(sent[i]->is_response_ok(), "one of several requests fails");
                const bool latest = i + places() >= count; // no later request has written over it
                if (command == tlm::TLM_READ_COMMAND && target->writable && latest)
                    require(data[i] == pattern(i), "one of several reads returns wrong bytes");
                from.give_back(*sent[i]);
            }
        }
    }

    static bytes pattern(unsigned seed, std::size_t length = 32) {
        bytes data(length);
        for (std::size_t i = 0; i < length; i++)
            data[i] = static_cast<std::uint8_t>(seed * 37 + i * 11 + 1);
        return data;
    }

  private:
    unsigned places() const {
        return static_cast<unsigned>(std::min<std::uint64_t>(last() - first() + 1, 1 << 16) / 32);
    }
    std::uint64_t place(unsigned i) const { return first() + i % places() * 32; }

    void main() {
        try {
            target->prepare();
            rule_(*this);
            sc_core::wait(sc_core::sc_time(10, sc_core::SC_US)); // for late calls of the target
            require(checker.violations().empty(),
                    "the protocol checker found " + checker.report().substr(0, checker.report().find('\n')));
            verdict_result = outcome::passed;
            verdict_text.clear();
        } catch (const failure &f) {
            verdict_text = f.text;
        } catch (const not_applicable &n) {
            verdict_result = outcome::not_applicable;
            verdict_text = n.text;
        }
        sc_core::sc_stop();
    }

    void (*rule_)(probe &);
};

} // namespace conformance

} // namespace tlmalloc::testing

#endif
