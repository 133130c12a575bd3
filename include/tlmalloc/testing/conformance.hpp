// A battery of TLM-2.0 rules for memory-like targets: anyone's, in both coding styles.
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
// Each rule runs in a process of its own (fork), in a simulation of its own, behind a base_protocol_checker; a rule
// whose process dies or takes too long has failed. Call it before any module is made in the calling process. Rule names
// are those of model/testing/README.md, which says what in IEEE 1666-2011 each rests on.
#ifndef TLMALLOC_TESTING_CONFORMANCE_HPP
#define TLMALLOC_TESTING_CONFORMANCE_HPP

#include "tlmalloc/testing/conformance_direct.hpp"
#include "tlmalloc/testing/conformance_phases.hpp"
#include "tlmalloc/testing/conformance_transport.hpp"

#include <csignal>
#include <cstring>
#include <iomanip>
#include <ostream>
#include <sys/wait.h>
#include <unistd.h>

namespace tlmalloc::testing {

struct conformance_rule {
    const char *name, *text;
    bool loosely_timed, approximately_timed; // where it is checked
    void (*check)(conformance::probe &);
};

// All rules, in the order of the report.
inline const std::vector<conformance_rule> &conformance_rules() {
    using namespace conformance;
    static const std::vector<conformance_rule> rules = {
        {"T1", "every answer has a response status", true, true, t1},
        {"T2.done", "OK means that the access has happened", true, true, t2_done},
        {"T2.untouched", "an error leaves the memory, and the buffer of a read, as they were", true, true,
         t2_untouched},
        {"T3.last", "the last byte is legal", true, true, t3_last},
        {"T3.end", "an access that runs off the end is an address error", true, true, t3_end},
        {"T3.behind", "an access behind the end is an address error", true, true, t3_behind},
        {"T3.wrap", "an access that wraps the address space is an address error", true, true, t3_wrap},
        {"T4", "TLM_IGNORE moves nothing and gets a status", true, true, t4},
        {"T5.write", "byte enables select what is written", true, true, t5_write},
        {"T5.read", "a byte that is not enabled keeps what the buffer had", true, true, t5_read},
        {"T5.short", "fewer enables than bytes are repeated", true, true, t5_short},
        {"T5.long", "more enables than bytes are as good", true, true, t5_long},
        {"T5.empty", "byte enables without a length are an error", true, true, t5_empty},
        {"T6.wrap", "a streaming width below the length wraps to the start address", true, true, t6_wrap},
        {"T6.wide", "a streaming width above the length is an ordinary access", true, true, t6_wide},
        {"T6.zero", "a streaming width of 0 is an error", true, true, t6_zero},
        {"T7", "a length of 0 is an error", true, true, t7},
        {"T8", "attributes, enables and write data are the initiator's", true, true, t8},
        {"T9.delay", "the delay is added to", true, true, t9_delay},
        {"T9.together", "calls of several threads do not disturb each other", true, true, t9_together},
        {"T10", "an unknown extension is ignored, none is left", true, true, t10},
        {"T11", "the DMI hint is set only where DMI is granted", true, true, t11},
        {"T12", "an access needs no memory manager", true, false, t12},
        {"D1", "a DMI region contains the address, ends in the memory, and leads to its bytes", true, false, d1},
        {"D2", "DMI allows what was asked for, and its latency goes with the access", true, false, d2},
        {"D3", "a refusal says where", true, false, d3},
        {"D4", "every member of tlm_dmi is set", true, false, d4},
        {"D5", "DMI is withdrawn", true, false, d5},
        {"D6", "get_direct_mem_ptr takes no time and changes no payload", true, false, d6},
        {"G1", "debug takes no time", true, false, g1},
        {"G2", "debug returns what it moved", true, false, g2},
        {"G3", "debug ignores byte enables and streaming", true, false, g3},
        {"G4", "debug and transport see the same bytes", true, false, g4},
        {"A1", "four phases in order, however the response is ended", false, true, a1},
        {"A2", "one request and one response open", false, true, a2},
        {"A3", "the return value says what happened to the arguments", false, true, a3},
        {"A4", "annotated times are kept", false, true, a4},
        {"A5", "references are given back once", false, true, a5},
        {"A6", "END_RESP is answered with TLM_COMPLETED", false, true, a6},
        {"A7", "non-blocking calls do not wait", false, true, a7},
        {"A8", "unknown phases are ignored", false, true, a8},
        {"A9", "no extension is left on a payload", false, true, a9},
        {"A10", "every request gets its response", false, true, a10},
        {"A11", "blocking and non-blocking accesses see the same bytes", false, true, a11},
        {"A12", "requests that touch the same bytes keep their order", false, true, a12},
        {"A13", "blocking calls may be made while requests are under way", false, true, a13},
    };
    return rules;
}

// Checks one rule in a process of its own.
inline verdict check_conformance(const conformance_rule &rule, coding style, const make_target &make,
                                 unsigned timeout_seconds = 60) {
    int channel[2];
    if (pipe(channel)) return {outcome::failed, "no pipe"};
    const pid_t child = fork();
    if (child < 0) return {outcome::failed, "no process"};
    if (child == 0) {
        close(channel[0]);
        // A test runner's handlers would go on in the caller's place.
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
            answer = "1thrown: no std::exception";
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
    if (WEXITSTATUS(status) != 0 || answer.empty()) return {outcome::failed, "the process ended without an answer"};
    return {static_cast<outcome>(answer[0] - '0'), answer.substr(1)};
}

// Checks all rules and writes a table: name, coding style, result, rule, what was found. Returns how many have failed.
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
