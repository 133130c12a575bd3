// A host with a standard library of its own: host PLUGIN. Strings, streams and exceptions of both libraries live beside
// one another; the exit status is 0 when all is as tlm_c.h says.
#include "tlmalloc/tlm_c.h"

#include <algorithm>
#include <dlfcn.h>
#include <iostream>
#include <map>
#include <random>
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

// 20,000 random accesses beside a plain array, by the rules of a loosely timed target: an answer, attributes as they
// were, a delay that does not go back, an error that touches nothing.
void play(tlmc_controller *controller, decltype(tlmc_transport) *transport) {
    constexpr std::uint64_t end = 0x1'8000'0000, size = 1 << 16, base = end - size; // the slice's last bytes
    std::mt19937 random(183);
    std::cout << "seed 183\n";
    std::vector<std::uint8_t> all(size);
    unsigned refused = 0;
    for (unsigned n = 0; n < 20'000; n++) {
        const std::uint32_t length = random() % 8 ? 1 + std::uint32_t(random() % 90) : 4096;
        const std::uint64_t offset = random() % 6 ? random() % (size - length) : size - random() % (2 * length);
        std::vector<std::uint8_t> data(length), enables(random() % 3 ? 0 : 1 + random() % 70);
        for (std::uint8_t &byte : data)
            byte = std::uint8_t(random());
        for (std::uint8_t &enable : enables)
            enable = random() % 2 ? 0xff : 0;
        tlmc_access made{};
        made.command = random() % 16 ? std::uint32_t(random() % 2) : std::uint32_t{TLMC_IGNORE};
        made.address = base + offset;
        made.data = data.data();
        made.length = length;
        made.streaming_width = random() % 4 ? length : 1 + std::uint32_t(random() % (length + 5));
        made.enables = enables.empty() ? nullptr : enables.data();
        made.enables_length = std::uint32_t(enables.size());
        made.delay_ps = random() % 1'000'000;
        const tlmc_access before = made;
        const std::vector<std::uint8_t> given = data;
        require(transport(controller, TLMC_DATA, &made) == 0, "an access is not made");
        require(made.command == before.command && made.address == before.address && made.data == before.data &&
                    made.length == length && made.streaming_width == before.streaming_width &&
                    made.enables == before.enables && made.enables_length == before.enables_length,
                "an attribute has changed");
        require(made.delay_ps >= before.delay_ps, "time goes back");
        const std::uint64_t span = std::min(length, made.streaming_width);
        const bool reaches = offset + span <= size;
        require(made.response == (reaches ? TLMC_OK : TLMC_ADDRESS_ERROR), "another answer");
        refused += !reaches;
        for (std::size_t i = 0; i < length; i++) {
            const bool moved =
                reaches && made.command != TLMC_IGNORE && (enables.empty() || enables[i % enables.size()]);
            if (moved && made.command == TLMC_WRITE) all[offset + i % span] = given[i];
            const std::uint8_t expected = moved && made.command == TLMC_READ ? all[offset + i % span] : given[i];
            require(data[i] == expected, "another byte");
        }
    }
    require(refused > 500, "too few accesses past the end");
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
    play(controller, tlmc_transport);
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
