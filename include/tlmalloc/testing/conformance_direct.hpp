// The battery's rules D1 to D6 and G1 to G4: direct memory pointers and debug transport.
#ifndef TLMALLOC_TESTING_CONFORMANCE_DIRECT_HPP
#define TLMALLOC_TESTING_CONFORMANCE_DIRECT_HPP

#include "tlmalloc/testing/conformance_probe.hpp"

namespace tlmalloc::testing::conformance {

// --- DMI -------------------------------------------------------------------------------------------------------------

inline void d1(probe &p) {
    if (p.target->writable) {
        p.write(p.first(), probe::pattern(1, 64));
        p.write(p.last() - 63, probe::pattern(2, 64));
    }
    for (const std::uint64_t address : {p.first(), p.first() + 5, p.first() + (p.last() - p.first()) / 2, p.last()}) {
        const tlm::tlm_dmi data = p.granted(address);
        require(data.get_start_address() <= address && address <= data.get_end_address(),
                "the region does not contain the address");
        require(!p.target->bounded || data.get_end_address() <= p.last(), "the region ends behind the memory");
        for (const std::uint64_t at :
             {std::uint64_t{data.get_start_address()}, address, std::uint64_t{data.get_end_address()}}) {
            if (at < p.first() || at > p.last()) continue;
            std::uint8_t *const byte = data.get_dmi_ptr() + (at - data.get_start_address());
            require(*byte == p.read(at, 1)[0], "the pointer does not lead to the bytes of its address");
            if (!p.target->writable || !data.is_write_allowed()) continue;
            *byte ^= 0xff;
            require(*byte == p.read(at, 1)[0], "what is written through the pointer is not what is read");
        }
    }
}

inline void d2(probe &p) {
    const tlm::tlm_dmi data = p.granted(p.first());
    require(data.is_read_allowed(), "DMI is granted for a read and does not allow reads");
    sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(4)};
    const sc_core::sc_time begin = sc_core::sc_time_stamp();
    p.send(r);
    const sc_core::sc_time cost = sc_core::sc_time_stamp() - begin;
    require((cost == sc_core::SC_ZERO_TIME) == (data.get_read_latency() == sc_core::SC_ZERO_TIME),
            "an access takes time and DMI does not, or the other way round");
    require(data.get_read_latency() <= cost, "DMI is slower than the access that it replaces");
}

inline void d3(probe &p) {
    if (!p.target->bounded || p.last() == UINT64_MAX) throw not_applicable{"nothing is there to be refused"};
    tlm::tlm_dmi data;
    require(!p.dmi(tlm::TLM_READ_COMMAND, p.last() + 1, data), "DMI is granted behind the memory");
    require(data.get_start_address() <= p.last() + 1 && p.last() + 1 <= data.get_end_address(),
            "the region that is refused does not contain the address");
}

inline void d4(probe &p) {
    const tlm::tlm_dmi fresh = p.granted(p.first());
    std::uint8_t elsewhere = 0;
    tlm::tlm_dmi used;
    used.set_dmi_ptr(&elsewhere);
    used.set_start_address(p.first() + 1);
    used.set_end_address(p.first() + 2);
    used.set_read_latency(sc_core::sc_time(1, sc_core::SC_SEC));
    used.set_write_latency(sc_core::sc_time(1, sc_core::SC_SEC));
    require(p.dmi(tlm::TLM_READ_COMMAND, p.first(), used), "the same request is refused the second time");
    require(used.get_dmi_ptr() == fresh.get_dmi_ptr() && used.get_start_address() == fresh.get_start_address() &&
                used.get_end_address() == fresh.get_end_address() &&
                used.get_read_latency() == fresh.get_read_latency() &&
                used.get_write_latency() == fresh.get_write_latency() &&
                used.get_granted_access() == fresh.get_granted_access(),
            "a member of tlm_dmi that was set before is not overwritten");
}

inline void d5(probe &p) {
    p.granted(p.first());
    std::vector<conformance_target::range> withdrawn;
    p.from.on_invalidate = [&](std::uint64_t first, std::uint64_t last) { withdrawn.push_back({first, last}); };
    const std::optional<conformance_target::range> wanted = p.target->withdraw_dmi();
    if (!wanted) throw not_applicable{"nothing makes this target withdraw DMI"};
    const bool covered = std::any_of(withdrawn.begin(), withdrawn.end(),
                                     [&](const auto &w) { return w.first <= wanted->first && wanted->last <= w.last; });
    require(covered, "DMI is not withdrawn");
}

inline void d6(probe &p) {
    p.granted(p.first());
    probe::request r{tlm::TLM_READ_COMMAND, p.first() + 4, bytes(8)};
    tlm::tlm_generic_payload &payload = p.make(r);
    const sc_core::sc_time before = sc_core::sc_time_stamp();
    tlm::tlm_dmi data;
    p.from.out->get_direct_mem_ptr(payload, data);
    const bool same = payload.get_address() == r.address && payload.get_command() == r.command &&
                      payload.get_data_ptr() == r.data.data() && payload.get_data_length() == 8;
    p.from.give_back(payload);
    require(sc_core::sc_time_stamp() == before, "get_direct_mem_ptr took time");
    require(same, "get_direct_mem_ptr changed the payload");
}

// --- debug -----------------------------------------------------------------------------------------------------------

inline bytes debug_read(probe &p, std::uint64_t address, std::size_t length) {
    bytes data(length, 0xa5);
    const unsigned moved = p.debug(tlm::TLM_READ_COMMAND, address, data);
    if (moved == 0) throw not_applicable{"the target has no debug transport"};
    require(moved == length, "a debug read of legal addresses is cut short");
    return data;
}

inline void g1(probe &p) {
    const sc_core::sc_time before = sc_core::sc_time_stamp();
    const sc_dt::uint64 delta = sc_core::sc_delta_count();
    debug_read(p, p.first(), 64);
    require(sc_core::sc_time_stamp() == before && sc_core::sc_delta_count() == delta, "transport_dbg took time");
}

inline void g2(probe &p) {
    debug_read(p, p.first(), 64);
    bytes none;
    require(p.debug(tlm::TLM_READ_COMMAND, p.first(), none) == 0, "a debug read of 0 bytes moved some");
    if (!p.target->bounded || p.last() == UINT64_MAX) return;
    bytes data(8, 0xa5);
    require(p.debug(tlm::TLM_READ_COMMAND, p.last() + 1, data) == 0, "a debug read behind the memory moved bytes");
    require(data == bytes(8, 0xa5), "a debug read that moved nothing changed the buffer");
    require(p.debug(tlm::TLM_READ_COMMAND, p.last() - 3, data) <= 4, "a debug read moved bytes from behind the memory");
}

inline void g3(probe &p) {
    const bytes plain = debug_read(p, p.first(), 16);
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(16, 0xa5), {}, 4u, bytes(4, TLM_BYTE_DISABLED)};
    tlm::tlm_generic_payload &payload = p.make(r);
    const unsigned moved = p.from.out->transport_dbg(payload);
    p.from.give_back(payload);
    require(moved == 16 && r.data == plain, "transport_dbg minds byte enables or streaming");
}

inline void g4(probe &p) {
    const bytes seen = debug_read(p, p.first() + 3, 61);
    require(seen == p.read(p.first() + 3, 61), "debug and transport do not see the same bytes");
    if (!p.target->writable) return;
    bytes data = probe::pattern(5, 61);
    if (p.debug(tlm::TLM_WRITE_COMMAND, p.first() + 3, data) == 0) throw not_applicable{"debug cannot write"};
    require(p.read(p.first() + 3, 61) == data, "transport does not see what debug wrote");
    p.write(p.last() - 60, data);
    require(debug_read(p, p.last() - 60, 61) == data, "debug does not see what transport wrote");
}

} // namespace tlmalloc::testing::conformance

#endif
