// SPDX-License-Identifier: Apache-2.0
#include "profile/names/interpreter_frames.h"

#include <gtest/gtest.h>

#include <vector>

#include "format/pprof/pprof_schema.h"
#include "profile/names/frame_name.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

TEST(InterpreterFrames, TellsCodeThatARuntimeExecutes) {
  Builder b;
  const uint32_t native = b.at("main");
  const uint32_t python = b.python("f", "f.py", 3);
  const uint32_t left_out = b.python(schema::kFramesLeftOutName, "", 0);
  const Profile& profile = b.profile();
  EXPECT_EQ(nullptr, runtime_function(profile, profile.locations[native]));
  EXPECT_EQ(nullptr, runtime_function(profile, profile.locations[left_out]));
  ASSERT_NE(nullptr, runtime_function(profile, profile.locations[python]));
  EXPECT_EQ("f", runtime_function(profile, profile.locations[python])->name);
}

TEST(InterpreterFrames, CodeThatAJitListedIsExecutedByNoRuntime) {
  Builder b;
  const uint32_t listed = b.python("made", kMadeCode, 0);
  const uint32_t main = b.at("main");
  b.stack({listed, main}, 1, 1);
  const Profile& profile = b.profile();
  EXPECT_NE(nullptr, runtime_function(profile, profile.locations[listed]));
  EXPECT_EQ(nullptr, executed_function(profile, profile.locations[listed]));
  EXPECT_EQ(0u, InterpreterFrames(profile).executed_end(profile.stacks[0]));
}

// What Cython made of the program's own lines keeps its rows; what it made of a package's is the calling line's.
TEST(InterpreterFrames, FunctionsThatCythonMade) {
  for (const char* path : {"/src/app/cymod.cpython-312-x86_64-linux-gnu.so",
                           "/venv/lib/python3.12/site-packages/pandas/_libs/lib.so"}) {
    const bool is_own = path[1] == 's';
    Builder b;
    b.module("/usr/bin/python3.12");
    const uint32_t main = b.at("Py_RunMain");
    b.module(path);
    const uint32_t helper = b.at("__Pyx_PyObject_FastCallDict");
    const uint32_t made = b.at("__pyx_pw_5cymod_1f");
    b.stack({helper, made, b.python("work", "app.py", 3), main}, 1, 1);
    std::vector<bool> is_called;
    InterpreterFrames(b.profile()).mark_called(b.profile().stacks[0], &is_called);
    EXPECT_EQ((std::vector<bool>{true, !is_own, false, false}), is_called) << path;
  }
}

TEST(InterpreterFrames, FunctionsThatMypycCompiledKeepTheirRows) {
  Builder b;
  b.module("/usr/bin/python3.12");
  const uint32_t main = b.at("Py_RunMain");
  b.module("/venv/lib/python3.12/site-packages/6ec57f__mypyc.cpython-312-x86_64-linux-gnu.so");
  const uint32_t helper = b.at("CPyDict_SetItem");
  const uint32_t made = b.at("CPyDef_build___State___parse");
  const uint32_t wrapper = b.at("CPyPy_build___State___parse");
  b.stack({helper, made, wrapper, b.python("<module>", "app.py", 3), main}, 1, 1);
  std::vector<bool> is_called;
  InterpreterFrames(b.profile()).mark_called(b.profile().stacks[0], &is_called);
  EXPECT_EQ((std::vector<bool>{true, false, true, false, false}), is_called);
  EXPECT_FALSE(is_mypyc_symbol("CPyDef_"));
  EXPECT_FALSE(is_mypyc_symbol("CPyPy_build___build"));
}

TEST(InterpreterFrames, KnowsTheFilesOfInterpreters) {
  const struct {
    const char* file;
    bool is_interpreter;
  } kFiles[] = {{"python3", true},
                {"python3.11", true},
                {"python3.14t", true},
                {"libpython3.12.so.1.0", true},
                {"libpython3.so", true},
                {"libpython3.13d.so.1.0", true},
                {"_multiarray_umath.cpython-311-x86_64-linux-gnu.so", false},
                {"node", true},
                {"nodejs", true},
                {"libnode.so.108", true},
                {"node_exporter", false},
                {"libpythonx.so", false},
                {"python-server", false},
                {"libboost_python311.so.1.74.0", false},
                {"server", false}};
  for (const auto& f : kFiles) {
    Builder b;
    b.module(f.file);
    const uint32_t native = b.at("PyList_New");
    const uint32_t python = b.python("f", "f.py", 3);
    b.stack({native, python}, 1, 1).stack({native}, 1, 1);
    const InterpreterFrames frames(b.profile());
    const Stack& stack = b.profile().stacks[0];
    EXPECT_EQ(f.is_interpreter, frames.is_interpreter(stack, 0)) << f.file;
    EXPECT_FALSE(frames.is_interpreter(stack, 1));
    EXPECT_EQ(2u, frames.executed_end(b.profile().stacks[0]));
    EXPECT_EQ(0u, frames.executed_end(b.profile().stacks[1]));
  }
}

TEST(InterpreterFrames, CodeOfItsJitStandsAboveWhatItExecutes) {
  Builder b;
  const uint32_t python = b.python("f", "f.py", 3);
  b.profile().locations.push_back({0x7f0000001000, kNoMapping, false, {}});
  const auto jit = static_cast<uint32_t>(b.profile().locations.size() - 1);
  const uint32_t native = b.at("call");
  b.stack({native, jit, python}, 1, 1).stack({jit, native, python}, 1, 1).stack({python, jit}, 1, 1);
  const InterpreterFrames frames(b.profile());
  EXPECT_TRUE(frames.is_interpreter(b.profile().stacks[0], 1));
  EXPECT_FALSE(frames.is_interpreter(b.profile().stacks[1], 0)) << "somebody else's JIT";
  EXPECT_FALSE(frames.is_interpreter(b.profile().stacks[2], 1));
}

}  // namespace
}  // namespace memprof::profile
