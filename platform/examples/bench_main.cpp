// The main function of test benches in C.
#include "bench_main.hpp"

#include <exception>
#include <iostream>
#include <systemc>

int sc_main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " WAVEFORM.vcd\n";
        return 2;
    }
    try {
        return run_bench(argv[1]);
    } catch (const std::exception &e) {
        std::cerr << e.what() << '\n';
        return 2;
    }
}
