// A run is the same for every simulation.quantum: report and waveform, byte for byte.
#include "platform/command_line.hpp"

#include <sstream>

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

std::string without_the_quantum(const std::string &report) {
    std::istringstream lines(report);
    std::string line, rest;
    while (std::getline(lines, line))
        if (line.find("\"quantum\"") == std::string::npos) rest += line + '\n';
    return rest;
}

void is_the_same_for_every_quantum(const std::vector<std::string> &settings) {
    scratch_directory scratch;
    std::string report, wave;
    for (const char *quantum : {"0 ns", "1 ps", "333 ps", "1 ns"}) {
        std::vector<std::string> arguments = {"run",    small,
                                              "--json", scratch.path("r.json"),
                                              "--vcd",  scratch.path("r.vcd"),
                                              "--set",  std::string("simulation.quantum=") + quantum};
        for (const std::string &setting : settings)
            arguments.insert(arguments.end(), {"--set", setting});
        const command_result run = run_tlmalloc(arguments);
        BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
        const std::string this_report = without_the_quantum(read_text(scratch.path("r.json"))),
                          this_wave = read_text(scratch.path("r.vcd"));
        BOOST_REQUIRE(contains(this_report, "\"end_ps\""));
        if (report.empty()) {
            report = this_report;
            wave = this_wave;
        }
        BOOST_CHECK_MESSAGE(this_report == report, "the report with " << quantum << " differs");
        BOOST_CHECK_MESSAGE(this_wave == wave, "the waveform with " << quantum << " differs");
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_run_is_the_same_for_every_quantum) {
    is_the_same_for_every_quantum({});
}
BOOST_AUTO_TEST_CASE(a_run_is_the_same_for_every_quantum_where_commands_meet_at_controllers) {
    is_the_same_for_every_quantum({"mmu.walk=memory", "mmu.page_size=4 KiB", "va.map_ack=posted",
                                   "system.cube_mesh_width=2", "system.cube_mesh_height=2", "links.ucie_overhead=1 ns",
                                   "links.hbm_bandwidth=64 GB/s", "workload.kernel=vector_add",
                                   "workload.elements_per_pe=100", "pe.dispatch=0 ns", "controller.free_list=hbm",
                                   "hbm.timing=hbm2"});
}
BOOST_AUTO_TEST_CASE(a_run_is_the_same_for_every_quantum_where_pages_leave_and_return) {
    is_the_same_for_every_quantum({"mmu.page_size=4 KiB", "mmu.unmapped=demand", "mmu.eviction=lru", "mmu.walk=flat",
                                   "hbm.capacity_per_cube=80 KiB", "host_memory.capacity=4 MiB"});
}
BOOST_AUTO_TEST_CASE(a_run_is_the_same_for_every_quantum_where_pages_fault_at_one_time) {
    is_the_same_for_every_quantum({"system.sips=2", "mmu.page_size=4 KiB", "mmu.unmapped=demand"});
}
BOOST_AUTO_TEST_CASE(a_run_is_the_same_for_every_quantum_where_controllers_serve_page_faults) {
    is_the_same_for_every_quantum({"system.sips=2", "mmu.page_size=4 KiB", "mmu.unmapped=demand",
                                   "mmu.fault_handler=controller", "mmu.walk=memory", "workload.elements_per_pe=1500",
                                   "workload.kernel=vector_add"});
}
