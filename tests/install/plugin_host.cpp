// Loads a plugin that contains tlmalloc; the program itself knows SystemC only.
#include <cstdio>
#include <dlfcn.h>
#include <systemc>

int sc_main(int argc, char **argv) {
    void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
    auto capacity = plugin ? reinterpret_cast<unsigned long long (*)()>(dlsym(plugin, "plugin_capacity")) : nullptr;
    if (!capacity) {
        std::fprintf(stderr, "%s\n", plugin || argc == 2 ? dlerror() : "expected a plugin");
        return 1;
    }
    std::printf("plugin: %llu\n", capacity());
    return 0;
}
