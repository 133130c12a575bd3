// A battery of TLM-2.0 rules for any memory-like target, in both coding styles.
//
//   struct my_target : tlmalloc::testing::conformance_target {
//       my_memory memory_under_test{"memory"};
//       my_target() { memory = {0, 0xffff}; }
//       void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(memory_under_test.in); }
//   };
//   int sc_main(int, char **) {
//       return tlmalloc::testing::report_conformance([] { return std::make_unique<my_target>(); }, std::cout);
//   }
//
// Each rule runs in a process of its own (fork), in a simulation of its own, with a base_protocol_checker in front of
// the target. A rule fails if its process dies or takes too long. Call the battery before the calling process creates
// any module. model/testing/README.md lists the rules by name, with the source of each rule in IEEE 1666-2011.
#ifndef TLMALLOC_TESTING_CONFORMANCE_HPP
#define TLMALLOC_TESTING_CONFORMANCE_HPP

#include "tlmalloc/testing/conformance_probe.hpp"
#include "tlmalloc/testing/conformance_transport.hpp"

#include <csignal>
#include <cstring>
#include <iomanip>
#include <ostream>
#include <sys/wait.h>
#include <unistd.h>

namespace tlmalloc::testing::conformance {

// --- DMI and debug accesses ---
//
// The battery's rules D1 to D6 and G1 to G4: direct memory pointers and debug transport.

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
        require(!p.target->bounded || data.get_end_address() <= p.last(), "the region ends after the memory");
        for (const std::uint64_t at :
             {std::uint64_t{data.get_start_address()}, address, std::uint64_t{data.get_end_address()}}) {
            if (at < p.first() || at > p.last()) continue;
            std::uint8_t *const byte = data.get_dmi_ptr() + (at - data.get_start_address());
            require(*byte == p.read(at, 1)[0], "the pointer does not point to the bytes of its address");
            if (!p.target->writable || !data.is_write_allowed()) continue;
            *byte ^= 0xff;
            require(*byte == p.read(at, 1)[0], "bytes read differ from bytes written through the pointer");
        }
    }
}

inline void d2(probe &p) {
    const tlm::tlm_dmi data = p.granted(p.first());
    require(data.is_read_allowed(), "DMI is granted for a read but does not allow reads");
    sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(4)};
    const sc_core::sc_time begin = sc_core::sc_time_stamp();
    p.send(r);
    const sc_core::sc_time cost = sc_core::sc_time_stamp() - begin;
    require((cost == sc_core::SC_ZERO_TIME) == (data.get_read_latency() == sc_core::SC_ZERO_TIME),
            "only one of the access and DMI takes time");
    require(data.get_read_latency() <= cost, "DMI is slower than the access");
}

inline void d3(probe &p) {
    if (!p.target->bounded || p.last() == UINT64_MAX)
        throw not_applicable{"the target has no address after its memory"};
    tlm::tlm_dmi data;
    require(!p.dmi(tlm::TLM_READ_COMMAND, p.last() + 1, data), "DMI is granted after the memory");
    require(data.get_start_address() <= p.last() + 1 && p.last() + 1 <= data.get_end_address(),
            "the declined region does not contain the address");
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
    require(p.dmi(tlm::TLM_READ_COMMAND, p.first(), used), "the same request is declined the second time");
    require(used.get_dmi_ptr() == fresh.get_dmi_ptr() && used.get_start_address() == fresh.get_start_address() &&
                used.get_end_address() == fresh.get_end_address() &&
                used.get_read_latency() == fresh.get_read_latency() &&
                used.get_write_latency() == fresh.get_write_latency() &&
                used.get_granted_access() == fresh.get_granted_access(),
            "a member of tlm_dmi keeps its previous value");
}

inline void d5(probe &p) {
    p.granted(p.first());
    std::vector<conformance_target::range> withdrawn;
    p.from.on_invalidate = [&](std::uint64_t first, std::uint64_t last) { withdrawn.push_back({first, last}); };
    const std::optional<conformance_target::range> wanted = p.target->withdraw_dmi();
    if (!wanted) throw not_applicable{"this target has no way to invalidate DMI"};
    const bool covered = std::any_of(withdrawn.begin(), withdrawn.end(),
                                     [&](const auto &w) { return w.first <= wanted->first && wanted->last <= w.last; });
    require(covered, "DMI is not invalidated");
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
    require(moved == length, "a debug read of legal addresses returns too few bytes");
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
    require(p.debug(tlm::TLM_READ_COMMAND, p.first(), none) == 0, "a debug read of 0 bytes moved bytes");
    if (!p.target->bounded || p.last() == UINT64_MAX) return;
    bytes data(8, 0xa5);
    require(p.debug(tlm::TLM_READ_COMMAND, p.last() + 1, data) == 0, "a debug read after the memory moved bytes");
    require(data == bytes(8, 0xa5), "a debug read that moved 0 bytes changed the buffer");
    require(p.debug(tlm::TLM_READ_COMMAND, p.last() - 3, data) <= 4, "a debug read moved bytes from after the memory");
}

inline void g3(probe &p) {
    const bytes plain = debug_read(p, p.first(), 16);
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(16, 0xa5), {}, 4u, bytes(4, TLM_BYTE_DISABLED)};
    tlm::tlm_generic_payload &payload = p.make(r);
    const unsigned moved = p.from.out->transport_dbg(payload);
    p.from.give_back(payload);
    require(moved == 16 && r.data == plain, "transport_dbg uses byte enables or streaming");
}

inline void g4(probe &p) {
    const bytes seen = debug_read(p, p.first() + 3, 61);
    require(seen == p.read(p.first() + 3, 61), "debug and transport access different bytes");
    if (!p.target->writable) return;
    bytes data = probe::pattern(5, 61);
    if (p.debug(tlm::TLM_WRITE_COMMAND, p.first() + 3, data) == 0)
        throw not_applicable{"debug writes are not supported"};
    require(p.read(p.first() + 3, 61) == data, "transport does not return the bytes that debug wrote");
    p.write(p.last() - 60, data);
    require(debug_read(p, p.last() - 60, 61) == data, "debug does not return the bytes that transport wrote");
}

// --- Four phases ---
//
// The battery's rules A1 to A13: the four phases.

// --- four phases -----------------------------------------------------------------------------------------------------

constexpr response_end all_endings[] = {response_end::completed, response_end::updated, response_end::call};

inline void a1(probe &p) {
    for (const response_end ending : all_endings) {
        p.from.ending = ending;
        for (int i = 0; i < 4; i++)
            p.read(p.first(), 16);
    }
}

inline void a2(probe &p) {
    p.from.response_delay = sc_core::sc_time(200, sc_core::SC_NS);
    for (const response_end ending : {response_end::call, response_end::updated}) {
        p.from.ending = ending;
        p.many(16);
    }
}

inline void a3(probe &p) {
    for (const sc_core::sc_time &delay : {sc_core::SC_ZERO_TIME, sc_core::sc_time(7, sc_core::SC_NS)}) {
        probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), {}, {}, {}, delay};
        p.send(r); // the checker compares arguments with the answers
    }
    p.many(8);
}

inline void a4(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    const sc_core::sc_time begin = sc_core::sc_time_stamp(), delay(1, sc_core::SC_US);
    p.from.begin(payload, delay);
    const sc_core::sc_time responded = p.from.finish(payload);
    p.from.give_back(payload);
    require(responded >= begin + delay, "a response arrives before the annotated time of its request");
}

inline void a5(probe &p) {
    for (const response_end ending : all_endings) {
        p.from.ending = ending;
        bytes data(8);
        tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
        p.from.begin(payload);
        p.from.finish(payload);
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
        const int references = payload.get_ref_count();
        p.from.give_back(payload);
        require(references >= 1, "the target released a reference that it did not hold");
        require(references == 1, "the target still holds a payload after its response");
    }
}

inline void a6(probe &p) {
    p.from.ending = response_end::call;
    p.read(p.first(), 8);
    require(p.from.last_end_response_answer() == tlm::TLM_COMPLETED, "END_RESP does not return TLM_COMPLETED");
}

inline void a7(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    sc_core::sc_spawn_options method;
    method.spawn_method();
    sc_core::sc_event sent;
    sc_core::sc_spawn(
        [&] {
            p.from.begin(payload); // a wait() in this call is an error
            sent.notify(sc_core::SC_ZERO_TIME);
        },
        nullptr, &method);
    sc_core::wait(sent);
    p.from.ending = response_end::call; // a method sends END_RESP too
    p.from.finish(payload);
    p.from.give_back(payload);
}

inline void a8(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    for (const bool under_way : {false, true}) {
        if (under_way) p.from.begin(payload);
        tlm::tlm_phase phase = conformance_unknown_phase;
        sc_core::sc_time delay;
        require(p.from.out->nb_transport_fw(payload, phase, delay) == tlm::TLM_ACCEPTED,
                "an unknown phase does not return TLM_ACCEPTED");
    }
    p.from.finish(payload);
    require(payload.is_response_ok(), "an unknown phase made the access fail");
    p.from.give_back(payload);
}

inline void a9(probe &p) {
    bytes data(8);
    tlm::tlm_generic_payload &payload = p.from.make(tlm::TLM_READ_COMMAND, p.first(), data.data(), data.size());
    const std::vector<const void *> before = extensions(payload);
    p.from.begin(payload);
    p.from.finish(payload);
    sc_core::wait(sc_core::sc_time(10, sc_core::SC_US));
    const bool same = extensions(payload) == before;
    p.from.give_back(payload);
    require(same, "the target leaves an extension on the payload");
}

inline void a10(probe &p) {
    p.many(200);
}

inline void a11(probe &p) {
    if (!p.target->writable) throw not_applicable{"the target is read only"};
    for (const coding style : {coding::loosely_timed, coding::approximately_timed}) {
        p.from.style = style;
        p.write(p.first(), probe::pattern(6 + (style == coding::loosely_timed)));
        p.from.style = style == coding::loosely_timed ? coding::approximately_timed : coding::loosely_timed;
        require(p.read(p.first(), 32) == probe::pattern(6 + (style == coding::loosely_timed)),
                "blocking and non-blocking transport access different bytes");
    }
}

// Requests for the same bytes, all outstanding together, each with another length: checks the bytes of each read.
inline void a12(probe &p) {
    if (!p.target->writable) throw not_applicable{"the target is read only"};
    for (unsigned round = 0; round < 8; round++)
        for (const std::uint64_t at : {p.first() + 3, p.last() - 203}) {
            const std::uint64_t end = at + 184; // the last 16 of 200 bytes
            const bytes before = p.read(end, 16), all = probe::pattern(round, 200),
                        few = probe::pattern(round + 50, 16);
            bytes buffers[] = {bytes(16), all, bytes(16), few, bytes(16)};
            std::vector<tlm::tlm_generic_payload *> sent;
            for (bytes &b : buffers) {
                const bool write = sent.size() % 2 == 1;
                sent.push_back(&p.from.make(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                            b.size() > 16 ? at : end, b.data(), b.size()));
                p.from.begin(*sent.back());
            }
            for (tlm::tlm_generic_payload *payload : sent) {
                p.from.finish(*payload);
                require(payload->is_response_ok(), "one of several requests fails");
                p.from.give_back(*payload);
            }
            require(buffers[0] == before, "a read returns bytes of a later write");
            require(buffers[2] == bytes(all.begin() + 184, all.end()), "a read overtakes the write before it");
            require(buffers[4] == few && p.read(end, 16) == few, "a write overtakes the write before it");
        }
}

inline void a13(probe &p) {
    std::vector<bytes> buffers(8, bytes(32, 0xa5));
    if (p.target->writable) p.write(p.first(), probe::pattern(3));
    std::vector<tlm::tlm_generic_payload *> sent;
    p.from.style = coding::loosely_timed; // for accesses without begin()
    for (bytes &b : buffers) {
        sent.push_back(&p.from.make(tlm::TLM_READ_COMMAND, p.first(), b.data(), b.size()));
        p.from.begin(*sent.back());
        const bytes beside = p.read(p.first(), 32);
        require(!p.target->writable || beside == probe::pattern(3), "a blocking read returns wrong bytes");
        if (p.target->writable) p.write(p.first() + 64, probe::pattern(static_cast<unsigned>(sent.size())));
    }
    for (std::size_t i = 0; i < sent.size(); i++) {
        p.from.finish(*sent[i]);
        const bool ok = sent[i]->is_response_ok();
        p.from.give_back(*sent[i]);
        require(ok, "a request fails during blocking calls");
        require(!p.target->writable || buffers[i] == probe::pattern(3),
                "a request during blocking calls returns wrong bytes");
    }
}

} // namespace tlmalloc::testing::conformance

namespace tlmalloc::testing {

// --- The battery ---

struct conformance_rule {
    const char *name, *text;
    bool loosely_timed, approximately_timed; // coding styles in which it is checked
    void (*check)(conformance::probe &);
};

// All rules, in the order of the report.
inline const std::vector<conformance_rule> &conformance_rules() {
    using namespace conformance;
    static const std::vector<conformance_rule> rules = {
        {"T1", "every answer has a response status", true, true, t1},
        {"T2.done", "OK means that the access was performed", true, true, t2_done},
        {"T2.untouched", "an error does not change the memory or the buffer of a read", true, true, t2_untouched},
        {"T3.last", "the last byte is legal", true, true, t3_last},
        {"T3.end", "an access past the end is an address error", true, true, t3_end},
        {"T3.behind", "an access after the end is an address error", true, true, t3_behind},
        {"T3.wrap", "an access that wraps the address space is an address error", true, true, t3_wrap},
        {"T4", "TLM_IGNORE moves nothing and gets a status", true, true, t4},
        {"T5.write", "byte enables select the written bytes", true, true, t5_write},
        {"T5.read", "a disabled byte keeps its value in the buffer", true, true, t5_read},
        {"T5.short", "fewer byte enables than bytes are repeated", true, true, t5_short},
        {"T5.long", "more byte enables than bytes are accepted", true, true, t5_long},
        {"T5.empty", "byte enables without a length are an error", true, true, t5_empty},
        {"T6.wrap", "a streaming width below the length wraps to the start address", true, true, t6_wrap},
        {"T6.wide", "a streaming width above the length is an ordinary access", true, true, t6_wide},
        {"T6.zero", "a streaming width of 0 is an error", true, true, t6_zero},
        {"T7", "a length of 0 is an error", true, true, t7},
        {"T8", "the target does not change attributes, byte enables and write data", true, true, t8},
        {"T9.delay", "the target adds to the delay", true, true, t9_delay},
        {"T9.together", "calls of several threads are independent", true, true, t9_together},
        {"T10", "an unknown extension is ignored, and no extension is added", true, true, t10},
        {"T11", "the DMI hint is set only if DMI is granted", true, true, t11},
        {"T12", "an access needs no memory manager", true, false, t12},
        {"D1", "a DMI region contains the address, ends inside the memory and points to its bytes", true, false, d1},
        {"D2", "DMI allows the requested access, and its latency matches the access", true, false, d2},
        {"D3", "a declined DMI request gives its range", true, false, d3},
        {"D4", "the target sets every member of tlm_dmi", true, false, d4},
        {"D5", "DMI is invalidated", true, false, d5},
        {"D6", "get_direct_mem_ptr takes no time and does not change the payload", true, false, d6},
        {"G1", "debug takes no time", true, false, g1},
        {"G2", "debug returns the number of bytes moved", true, false, g2},
        {"G3", "debug ignores byte enables and streaming", true, false, g3},
        {"G4", "debug and transport access the same bytes", true, false, g4},
        {"A1", "the four phases are in order, for every way to end the response", false, true, a1},
        {"A2", "at most one request and one response are open", false, true, a2},
        {"A3", "the return value matches the changes of the arguments", false, true, a3},
        {"A4", "annotated times are respected", false, true, a4},
        {"A5", "every reference is released once", false, true, a5},
        {"A6", "END_RESP returns TLM_COMPLETED", false, true, a6},
        {"A7", "non-blocking calls do not block", false, true, a7},
        {"A8", "unknown phases are ignored", false, true, a8},
        {"A9", "no extension remains on a payload", false, true, a9},
        {"A10", "every request gets its response", false, true, a10},
        {"A11", "blocking and non-blocking transport access the same bytes", false, true, a11},
        {"A12", "requests to the same bytes keep their order", false, true, a12},
        {"A13", "blocking calls are possible while requests are outstanding", false, true, a13},
    };
    return rules;
}

// Checks one rule in a process of its own, in a coding style in which the rule is checked. The process ends after
// timeout_seconds of real time (0: no limit). A rule that fails, a process that dies, and a process that cannot be
// created give a failed verdict with a text; the function throws nothing of its own.
inline verdict check_conformance(const conformance_rule &rule, coding style, const make_target &make,
                                 unsigned timeout_seconds = 60) {
    int channel[2];
    if (pipe(channel)) return {outcome::failed, "cannot create a pipe"};
    const pid_t child = fork();
    if (child < 0) return {outcome::failed, "cannot create a process"};
    if (child == 0) {
        close(channel[0]);
        // Otherwise a test runner's handlers would continue in place of the caller.
        for (const int signal : {SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTERM})
            std::signal(signal, SIG_DFL);
        alarm(timeout_seconds);
        for (const sc_core::sc_severity quiet : {sc_core::SC_INFO, sc_core::SC_WARNING})
            sc_core::sc_report_handler::set_actions(quiet, sc_core::SC_DO_NOTHING);
        std::string answer;
        try {
            conformance::probe p("conformance", style, make, rule.check);
            sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_SEC));
            answer = static_cast<char>('0' + static_cast<int>(p.verdict_result)) + p.verdict_text;
        } catch (const std::exception &e) {
            answer = std::string("1thrown: ") + e.what();
        } catch (...) {
            answer = "1thrown: an exception that is not a std::exception";
        }
        std::size_t written = 0;
        while (written < answer.size()) {
            const ssize_t n = ::write(channel[1], answer.data() + written, answer.size() - written);
            if (n <= 0) break;
            written += static_cast<std::size_t>(n);
        }
        _exit(0);
    }
    close(channel[1]);
    std::string answer;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(channel[0], buffer, sizeof buffer)) > 0;)
        answer.append(buffer, static_cast<std::size_t>(n));
    close(channel[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) return {outcome::failed, std::string("killed: ") + strsignal(WTERMSIG(status))};
    if (WEXITSTATUS(status) != 0 || answer.empty()) return {outcome::failed, "the process ended without a result"};
    return {static_cast<outcome>(answer[0] - '0'), answer.substr(1)};
}

// Checks all rules and writes a table: name, coding style, result, rule, observation. Returns the number of failed
// rules.
inline int report_conformance(const make_target &make, std::ostream &table) {
    int failed = 0;
    for (const conformance_rule &rule : conformance_rules())
        for (const coding style : {coding::loosely_timed, coding::approximately_timed}) {
            if (!(style == coding::loosely_timed ? rule.loosely_timed : rule.approximately_timed)) continue;
            const verdict v = check_conformance(rule, style, make);
            failed += v.result == outcome::failed;
            const char *const results[] = {"pass", "FAIL", "n/a"};
            table << std::left << std::setw(13) << rule.name << (style == coding::loosely_timed ? "LT  " : "AT  ")
                  << std::setw(6) << results[static_cast<int>(v.result)] << rule.text
                  << (v.text.empty() ? "" : ": " + v.text) << '\n';
        }
    return failed;
}

} // namespace tlmalloc::testing
#endif
