// Runs a fuzz target once on every file of the corpus directories that are named: what ctest does where there is no
// libFuzzer.
#include "fuzz.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

int main(int argc, char **argv) {
    size_t files = 0;
    for (int i = 1; i < argc; i++)
        for (const auto &entry : std::filesystem::directory_iterator(argv[i])) {
            std::ifstream file(entry.path(), std::ios::binary);
            std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
            LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
            files++;
        }
    std::printf("%zu inputs\n", files);
    return files ? 0 : 1;
}
