// Nothing: the source that the headers of others are precompiled for (CMakeLists.txt), since main.cpp is compiled
// without.
