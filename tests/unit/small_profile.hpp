// A profile small enough to be computed by hand, and settings that it belongs to.
#ifndef TLMALLOC_TESTS_UNIT_SMALL_PROFILE_HPP
#define TLMALLOC_TESTS_UNIT_SMALL_PROFILE_HPP

#include "scratch_directory.hpp"
#include "serving/step_law.h"

#include <string>

inline void write_small_profile(const scratch_directory &scratch) {
    scratch.write("dense.csv", "layer,tokens,time_us\nproj,10,5\nproj,20,6\nproj,40,10\nembedding,1,2\n");
    scratch.write("per_sequence.csv", "layer,sequences,time_us\nhead,1,100\nhead,3,120\n");
    scratch.write("attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
                                   "0,0,1,100,10\n0,0,1,200,20\n0,0,3,100,14\n0,0,3,200,30\n"
                                   "8,0,0,0,40\n8,64,0,0,48\n8,0,1,100,50\n8,64,1,100,60\n8,64,1,200,70\n");
    scratch.write("skew_fit.csv", "pc,n_label,skew_rate_label,kv_big_label,kp_label,alpha,n_samples\n"
                                  "0,n<=128,sr<=70%,kvB<=1k,kp=0,0.75,2\n0,n<=4,sr<=70%,kvB<=1k,kp=0,0.5,2\n"
                                  "0,n<=4,sr>70%,kvB<=1k,kp=0,0.25,2\n0,n<=4,sr<=15%,kvB<=1k,kp=0,,0\n"
                                  "8,n>128,sr<=70%,kvB>1k,kp<=2k,0.125,2\n0,n>2,sr<=70%,kvB<=1k,kp=0,1,2\n");
}

inline const std::string small_settings =
    R"({"gpu_blocks": 20, "block_tokens": 4, "layers": 2, "hidden": 500, "dtype": "bfloat16",
 "layer_sequence": ["proj", "attention", "proj"], "once": ["embedding", "head"], "device": "none", "note": null})";

#endif
