// The interface of a top-level around benches in C to the program's main function (bench_main.cpp).
#ifndef BENCH_MAIN_HPP
#define BENCH_MAIN_HPP

// Runs the bench and writes its waveform to that path; returns the program's status. Exceptions are reported.
int run_bench(const char *waveform);

#endif
