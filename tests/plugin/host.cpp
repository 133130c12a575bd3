// A host with a standard library of its own: host PLUGIN. Strings, streams and exceptions of both libraries live beside
// one another; the exit status is 0 when all is as tlm_c.h says.
#include "tlmalloc/tlm_c.h"

#include <dlfcn.h>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void require(bool holds, const std::string &what) {
    if (!holds) throw std::runtime_error(what);
}

template <typename Function>
Function *find(void *plugin, const std::string &name) {
    void *const found = dlsym(plugin, name.c_str());
    require(found != nullptr, name + " is not there");
    return reinterpret_cast<Function *>(found);
}

void drive(const char *path) {
    void *const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    require(plugin != nullptr, plugin ? "" : dlerror());
#define TLMC_FIND(name) auto *const name = find<decltype(::name)>(plugin, #name)
    TLMC_FIND(tlmc_create);
    TLMC_FIND(tlmc_error);
    TLMC_FIND(tlmc_transport);
    TLMC_FIND(tlmc_allocate);
    TLMC_FIND(tlmc_free);
#undef TLMC_FIND
    require(tlmc_create(TLMC_VERSION + 1, "c", "") == nullptr &&
                std::string(tlmc_error()).find("version") != std::string::npos,
            "another version is not refused");
    tlmc_controller *const controller = tlmc_create(TLMC_VERSION, "controller", "hbm.base = 0\ntcm.present = false\n");
    require(controller != nullptr, tlmc_error());
    std::map<std::uint64_t, std::vector<std::uint8_t>> blocks;
    tlmc_access who{}; // its delay goes on from command to command
    for (unsigned i = 1; i <= 100; i++) {
        std::uint64_t address = 0;
        require(tlmc_allocate(controller, 0, "hbm", i * 10, &who, &address) == 0, tlmc_error());
        std::vector<std::uint8_t> &bytes = blocks[address] = std::vector<std::uint8_t>(i * 10, std::uint8_t(i));
        tlmc_access write{};
        write.command = TLMC_WRITE;
        write.address = address;
        write.data = bytes.data();
        write.length = write.streaming_width = std::uint32_t(bytes.size());
        require(tlmc_transport(controller, TLMC_DATA, &write) == 0 && write.response == TLMC_OK, "a write fails");
    }
    for (const auto &block : blocks) {
        std::vector<std::uint8_t> bytes(block.second.size());
        tlmc_access read{};
        read.address = block.first;
        read.data = bytes.data();
        read.length = read.streaming_width = std::uint32_t(bytes.size());
        require(tlmc_transport(controller, TLMC_DATA, &read) == 0 && bytes == block.second, "other bytes than written");
        require(tlmc_free(controller, 0, block.first, bytes.size(), &who) == 0, tlmc_error());
    }
}

} // namespace

int main(int argc, char **argv) {
    try {
        require(argc == 2, "usage: host PLUGIN");
        drive(argv[1]);
    } catch (const std::exception &problem) {
        std::cerr << problem.what() << '\n';
        return 1;
    }
    return 0;
}
