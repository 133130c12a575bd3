// The golden waveform: a small run writes the same VCD, byte for byte, as the one in waveforms/.
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    BOOST_REQUIRE_MESSAGE(file, path << " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_small_run_writes_the_golden_waveform) {
    const std::string source = TLMALLOC_SOURCE_DIR, vcd = TLMALLOC_BINARY_DIR "/golden_check.vcd";
    // The command that waveforms/README.md gives for making it anew.
    const std::string command = std::string(TLMALLOC_COMMAND) + " run " + source +
                                "/configs/npu_small.yaml --kernel vector_add --set system.pes_per_cube=2"
                                " --set workload.elements_per_pe=256 --vcd " +
                                vcd + " >/dev/null";
    BOOST_REQUIRE_EQUAL(std::system(command.c_str()), 0);
    const std::string golden = contents(source + "/waveforms/vector_add.vcd"), written = contents(vcd);
    if (written == golden) return;
    std::size_t line = 1, at = 0;
    while (at < written.size() && at < golden.size() && written[at] == golden[at]) line += golden[at++] == '\n';
    BOOST_ERROR(vcd << " differs from waveforms/vector_add.vcd in line " << line);
}
